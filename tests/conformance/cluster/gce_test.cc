// tensorflow/python/distribute/cluster_resolver/gce_cluster_resolver_test.py,
// each test under its own name, against a server that answers like the Compute
// Engine API. Then tests of the API's variations and of faults of the original.

#include "cloud/gce_resolver.h"
#include "core/cluster/union_resolver.h"
#include "tests/conformance/cluster/google_fixture.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;
using NamesAndIps = std::vector<std::pair<std::string, std::string>>;

class Gce : public GoogleFixture {
 protected:
  // Adds a group of these instances, in a zone or region.
  void AddGroup(const std::string& group, const NamesAndIps& instances,
                const std::string& zone = "us-east1-d",
                const std::string& place = "zones/us-east1-d") {
    for (const auto& [name, ip] : instances) {
      groups_[place + "/" + group].push_back(
          {{"instance",
            fmt::format("https://www.googleapis.com/compute/v1/projects/"
                        "test-project/zones/{}/instances/{}",
                        zone, name)},
           {"status", "RUNNING"}});
      zones_[zone].push_back({{"name", name},
                              {"status", "RUNNING"},
                              {"networkInterfaces", {{{"networkIP", ip}}}}});
    }
  }

  GceOptions Options(const std::string& group) const {
    GceOptions options;
    options.group = group;
    options.project = "test-project";
    options.zone = "us-east1-d";
    options.overrides.rpc_layer = "grpc";
    options.endpoint = server_.url();
    return options;
  }
  GceResolver Resolver(const GceOptions& options) const {
    return GceResolver(Context(), options);
  }

  ServedAnswer AnswerApi(const ServedRequest& request) override {
    const std::string prefix = "/compute/v1/projects/test-project/";
    if (!request.path.starts_with(prefix)) return Error(404, "no project");
    const std::string path = request.path.substr(prefix.size());
    const Json* all = nullptr;
    if (request.method == "POST") {  // ZONE/instanceGroups/GROUP/listInstances
      EXPECT_EQ(request.body, R"({"instanceState":"RUNNING"})");
      std::string group = path.substr(0, path.rfind('/'));
      group.replace(group.find("/instanceGroups/"), 16, "/");
      if (!groups_.contains(group)) {
        return Error(404, "The resource 'instanceGroups' was not found");
      }
      all = &groups_[group];
    } else {  // zones/ZONE/instances
      EXPECT_EQ(request.query.at("filter"), "status=RUNNING");
      all = &zones_[path.substr(6, path.rfind('/') - 6)];
    }
    const auto at = request.query.find("pageToken");
    const size_t from = at == request.query.end() ? 0 : std::stoul(at->second);
    Json page = {{"kind", "compute#list"}};
    for (size_t k = from; k < std::min(from + page_, all->size()); ++k) {
      page["items"].push_back((*all)[k]);
    }
    if (from + page_ < all->size()) {
      page["nextPageToken"] = std::to_string(from + page_);
    }
    return {200, page.dump()};
  }

  const NamesAndIps three_ = {{"instance1", "10.1.2.3"},
                              {"instance2", "10.2.3.4"},
                              {"instance3", "10.3.4.5"}};
  const std::string of_three_ =
      "ClusterSpec({'worker': ['10.1.2.3:8470', '10.2.3.4:8470', "
      "'10.3.4.5:8470']})";
  std::map<std::string, Json> groups_;
  std::map<std::string, Json> zones_;
  size_t page_ = 500;
};

using GCEClusterResolver = Gce;

TEST_F(GCEClusterResolver, testSimpleSuccessfulRetrieval) {
  AddGroup("g", {{"gce-instance-1", "10.123.45.67"}});
  EXPECT_EQ(SpecOf(Resolver(Options("g"))),
            Cluster({{"worker", List{"10.123.45.67:8470"}}}));
}

TEST_F(GCEClusterResolver, testMasterRetrieval) {
  AddGroup("g", {{"gce-instance-1", "10.123.45.67"}});
  GceOptions options = Options("g");
  options.overrides.task_type = "worker";
  options.overrides.task_id = 0;
  EXPECT_EQ(MasterOf(Resolver(options)), "grpc://10.123.45.67:8470");
}

TEST_F(GCEClusterResolver, testMasterRetrievalWithCustomTasks) {
  AddGroup("g", three_);
  EXPECT_EQ(MasterOf(Resolver(Options("g")), {"worker", 2, "test"}),
            "test://10.3.4.5:8470");
}

TEST_F(GCEClusterResolver, testOverrideParameters) {
  AddGroup("g", three_);
  GceOptions options = Options("g");
  options.jobs = {{"testworker", std::nullopt}};
  options.overrides = {"testworker", 1, "test", {}};
  const GceResolver resolver = Resolver(options);
  EXPECT_EQ(OwnTask(resolver), "testworker/1");
  EXPECT_EQ(*resolver.RpcLayer(), "test");
  EXPECT_EQ(MasterOf(resolver), "test://10.2.3.4:8470");
}

// The original requests a job named "". No job has an empty name here, so only
// the index 0 is tested.
TEST_F(GCEClusterResolver, testOverrideParametersWithZeroOrEmpty) {
  AddGroup("g", three_);
  GceOptions options = Options("g");
  options.overrides = {"worker", 1, "", {}};
  EXPECT_EQ(MasterOf(Resolver(options), {{}, 0, {}}), "10.1.2.3:8470");
}

TEST_F(GCEClusterResolver, testCustomJobNameAndPortRetrieval) {
  AddGroup("g", {{"gce-instance-1", "10.123.45.67"}});
  EXPECT_EQ(Shown("gce:g?zone=us-east1-d&jobs=custom&port=2222"),
            "ClusterSpec({'custom': ['10.123.45.67:2222']})");
}

TEST_F(GCEClusterResolver, testMultipleInstancesRetrieval) {
  AddGroup("g", three_);
  EXPECT_EQ(SpecOf(Resolver(Options("g"))).ToString(), of_three_);
}

TEST_F(GCEClusterResolver, testUnionMultipleInstanceRetrieval) {
  AddGroup("w1", three_);
  AddGroup("w2", {{"instance4", "10.4.5.6"}, {"instance5", "10.5.6.7"}});
  AddGroup("ps", {{"ps1", "10.100.1.2"}, {"ps2", "10.100.2.3"}});
  GceOptions ps = Options("ps");
  ps.jobs = {{"ps", std::nullopt}};
  ps.port = 2222;
  UnionResolver::Parts parts;
  for (const GceOptions& options : {Options("w1"), Options("w2"), ps}) {
    parts.push_back(std::make_shared<GceResolver>(Context(), options));
  }
  const auto all = UnionResolver::Create(std::move(parts));
  EXPECT_EQ(SpecOf(**all),
            Cluster({{"ps", List{"10.100.1.2:2222", "10.100.2.3:2222"}},
                     {"worker",
                      List{"10.1.2.3:8470", "10.2.3.4:8470", "10.3.4.5:8470",
                           "10.4.5.6:8470", "10.5.6.7:8470"}}}));
}

// ---- variations of the API ----

TEST_F(Gce, GroupAndInstancesAreReadPageByPage) {
  AddGroup("g", three_);
  page_ = 1;
  EXPECT_EQ(Shown("gce:g?zone=us-east1-d"), of_three_);
}

TEST_F(Gce, ProjectZoneAndOwnTaskComeFromTheMachine) {
  AddGroup("g", three_, "us-central1-c", "zones/us-central1-c");
  EXPECT_EQ(Shown("gce:g"), of_three_);
  GceOptions options = Options("g");
  options.project = options.zone = "";
  EXPECT_EQ(OwnTask(Resolver(options)), "-/-");
  metadata_["instance/name"] = "instance2";
  EXPECT_EQ(OwnTask(Resolver(options)), "worker/1");
  options.jobs = {{"dispatcher", 1}, {"worker", std::nullopt}};
  EXPECT_EQ(OwnTask(Resolver(options)), "worker/0");
}

TEST_F(Gce, ARegionsGroupHasInstancesInSeveralZones) {
  AddGroup("g", {{"a-2", "10.0.0.2"}}, "us-east1-b", "regions/us-east1");
  AddGroup("g", {{"a-1", "10.0.0.1"}}, "us-east1-c", "regions/us-east1");
  EXPECT_EQ(Shown("gce:g?region=us-east1&port=1"),
            "ClusterSpec({'worker': ['10.0.0.1:1', '10.0.0.2:1']})");
}

TEST_F(Gce, AnInstanceThatWentMeanwhileIsLeftOut) {
  AddGroup("g", three_);
  zones_["us-east1-d"].erase(1);
  EXPECT_EQ(Shown("gce:g?zone=us-east1-d&port=1"),
            "ClusterSpec({'worker': ['10.1.2.3:1', '10.3.4.5:1']})");
}

TEST_F(Gce, AnExpiredTokenIsRequestedAgain) {
  AddGroup("g", three_);
  valid_token_ = 2;
  EXPECT_EQ(Shown("gce:g?zone=us-east1-d"), of_three_);
  EXPECT_EQ(tokens_, 2);
  valid_token_ = 99;
  EXPECT_THAT(Shown("gce:g?zone=us-east1-d"),
              HasSubstr("answers 401: Request had invalid"));
}

TEST_F(Gce, ATokenMayBeGivenWhereThereIsNoMetadataServer) {
  AddGroup("g", three_);
  variables_ = {{"CLOUDSDK_AUTH_ACCESS_TOKEN", "token7"},
                {"GCE_METADATA_HOST", "127.0.0.1:9"}};
  valid_token_ = 7;
  EXPECT_EQ(Shown("gce:g?zone=us-east1-d&project=test-project"), of_three_);
  EXPECT_THAT(Shown("gce:g?zone=us-east1-d"), HasSubstr("(project=NAME)"));
  EXPECT_THAT(Shown("gce:g?project=p"), HasSubstr("(zone=NAME)"));
  variables_.erase("CLOUDSDK_AUTH_ACCESS_TOKEN");
  EXPECT_THAT(Shown("gce:g?zone=z&project=p"),
              HasSubstr("set CLOUDSDK_AUTH_ACCESS_TOKEN"));
}

TEST_F(Gce, ErrorsSayWhatAndWho) {
  AddGroup("g", three_);
  EXPECT_THAT(Shown("gce:other?zone=us-east1-d"),
              HasSubstr("the instance group 'other': "));
  EXPECT_THAT(Shown("gce:other?zone=us-east1-d"), HasSubstr("was not found"));
  groups_["zones/us-east1-d/g"][1]["instance"] = "instance2";
  EXPECT_THAT(Shown("gce:g?zone=us-east1-d"),
              HasSubstr("'instance2' is no zones/ZONE/instances/NAME"));
  groups_["zones/us-east1-d/g"].erase(1);
  zones_["us-east1-d"][0].erase("networkInterfaces");
  EXPECT_THAT(Shown("gce:g?zone=us-east1-d"),
              HasSubstr("instance 'instance1' of us-east1-d has no networkIP"));
  const std::pair<ServedAnswer, std::string> answers[] = {
      {Error(403, "Required 'compute.instanceGroups.list' permission"),
       "answers 403: Required 'compute.instanceGroups.list'"},
      {Error(503, "try later"), "answers 503: try later"},
      {{200, "[]"}, "no JSON object"},
      {{200, R"({"items": {}})"}, "no list"},
  };
  for (const auto& [answer, text] : answers) {
    override_ =
        [&answer = answer](
            const ServedRequest& request) -> std::optional<ServedAnswer> {
      if (request.method != "POST") return {};
      return answer;
    };
    EXPECT_THAT(Shown("gce:g?zone=us-east1-d"), HasSubstr(text));
  }
  override_ = [](const ServedRequest&) {
    return std::optional(ServedAnswer{200, "a hotel's login page"});
  };
  EXPECT_THAT(Shown("gce:g?zone=us-east1-d"),
              HasSubstr("is not a Google metadata server"));
  override_ = [](const ServedRequest&) {
    return std::optional(
        ServedAnswer{200, "{}", {{"Metadata-Flavor", "Google"}}});
  };
  EXPECT_THAT(Shown("gce:g?zone=us-east1-d"), HasSubstr("no access_token"));
}

TEST_F(Gce, ASlowServerIsGivenUp) {
  override_ = [](const ServedRequest&) {
    return std::optional(ServedAnswer{200, "", {}, true});
  };
  EXPECT_THAT(Shown("gce:g?timeout=50ms"),
              HasSubstr("did not answer within 50ms"));
}

TEST_F(Gce, BadUrisAreNamed) {
  const auto made = [](const char* uri) {
    return ErrorText(CloudResolvers(nullptr).Make(uri, Machine({})).status());
  };
  EXPECT_THAT(made("gce:"), HasSubstr("needs an instance group"));
  EXPECT_THAT(made("gce:g?zone=a&region=b"), HasSubstr("'zone' or 'region'"));
  EXPECT_THAT(made("gce:g?zoen=a"), HasSubstr("did you mean \"zone\"?"));
  GceOptions plain = Options("g");
  plain.endpoint = "http://example.org";
  EXPECT_THAT(ErrorText(Resolver(plain).Spec().status()),
              HasSubstr("unencrypted"));
}

// ---- faults of the original ----

TEST_F(Gce, FaultAddressesAreNotSortedAsTexts) {
  AddGroup("g",
           {{"w-10", "10.0.0.5"}, {"w-9", "9.0.0.1"}, {"w-1", "10.0.0.10"}});
  EXPECT_EQ(Shown("gce:g?zone=us-east1-d&port=1"),
            "ClusterSpec({'worker': ['10.0.0.10:1', '9.0.0.1:1', "
            "'10.0.0.5:1']})");
}

}  // namespace
}  // namespace feedmill
