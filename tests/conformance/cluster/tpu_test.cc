// tensorflow/python/distribute/cluster_resolver/tpu/tpu_cluster_resolver_test.
// py, each test under its own name, against a server that answers like the
// Cloud TPU API and the metadata server. Then tests of their variations.

#include "cloud/tpu_resolver.h"
#include "tests/conformance/cluster/google_fixture.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class TPUClusterResolver : public GoogleFixture {
 protected:
  ServedAnswer AnswerApi(const ServedRequest& request) override {
    const auto node = nodes_.find(request.path);
    if (node == nodes_.end() || node->second.is_null())
      return Error(404, "Resource was not found");
    return {200, node->second.dump()};
  }

  static Json Old() {  // answer of the API's first version
    return {{"ipAddress", "10.1.2.3"},
            {"port", "8470"},
            {"state", "READY"},
            {"health", "HEALTHY"}};
  }
  static Json Pod() {
    Json endpoints = Json::array();
    for (int k = 4; k < 8; ++k) {
      endpoints.push_back(
          {{"ipAddress", fmt::format("10.2.3.{}", k)}, {"port", 8470}});
    }
    return {{"state", "READY"},
            {"health", "HEALTHY"},
            {"networkEndpoints", endpoints}};
  }

  std::unique_ptr<TpuResolver> Resolver(TpuOptions options) const {
    options.endpoint = server_.url();
    if (!options.overrides.rpc_layer) options.overrides.rpc_layer = "grpc";
    auto made = TpuResolver::Create(Context(), std::move(options));
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  static TpuOptions Named(const std::string& name) {
    TpuOptions options;
    options.tpu = name;
    return options;
  }
  static TpuOptions WithCoordinator(const std::string& name) {
    TpuOptions options = Named(name);
    options.project = "test-project";
    options.zone = "us-central1-c";
    options.coordinator = "coordinator";
    options.coordinator_address = "10.128.1.5:10203";
    return options;
  }

  std::map<std::string, Json> nodes_;
  Json& node_ = nodes_
      ["/v2/projects/test-project/locations/us-central1-c/nodes/"
       "test-tpu-1"];
  const std::string of_pod_ =
      "ClusterSpec({'worker': ['10.2.3.4:8470', '10.2.3.5:8470', "
      "'10.2.3.6:8470', '10.2.3.7:8470']})";
};

TEST_F(TPUClusterResolver, testCheckRunningInGceWithNoTpuName) {
  ExpectRefused(Resolver({})->Spec().status(),
                {"no TPU is named", "write tpu:NAME"});
}

TEST_F(TPUClusterResolver, testIsRunningInGce) {
  EXPECT_THAT(Shown("tpu:"), HasSubstr("this machine is not of one"));
  variables_["GCE_METADATA_HOST"] = "127.0.0.1:9";
  EXPECT_THAT(Shown("tpu:"), HasSubstr("and none is found: cannot reach"));
}

TEST_F(TPUClusterResolver, testRetrieveProjectAndZoneFromMetadata) {
  node_ = Old();
  TpuOptions options = WithCoordinator("test-tpu-1");
  options.project = options.zone = "";
  const auto resolver = Resolver(options);
  EXPECT_EQ(SpecOf(*resolver),
            Cluster({{"coordinator", List{"10.128.1.5:10203"}},
                     {"worker", List{"10.1.2.3:8470"}}}));
  EXPECT_EQ(MasterOf(*resolver), "grpc://10.1.2.3:8470");
}

TEST_F(TPUClusterResolver,
       testRetrieveProjectAndZoneFromMetadataNoCoordinator) {
  node_ = Old();
  const auto resolver = Resolver(Named("test-tpu-1"));
  EXPECT_EQ(SpecOf(*resolver), Cluster({{"worker", List{"10.1.2.3:8470"}}}));
  EXPECT_EQ(MasterOf(*resolver), "grpc://10.1.2.3:8470");
}

TEST_F(TPUClusterResolver, testNotReadyCloudTpu) {
  node_ = Old();
  node_["state"] = "CREATING";
  const auto spec = Resolver(Named("test-tpu-1"))->Spec();
  EXPECT_TRUE(absl::IsUnavailable(spec.status()));
  EXPECT_THAT(ErrorText(spec.status()),
              HasSubstr("TPU 'test-tpu-1' is CREATING, not READY"));
}

TEST_F(TPUClusterResolver, testSimpleSuccessfulRetrieval) {
  node_ = Old();
  const auto resolver = Resolver(WithCoordinator("test-tpu-1"));
  EXPECT_EQ(SpecOf(*resolver),
            Cluster({{"coordinator", List{"10.128.1.5:10203"}},
                     {"worker", List{"10.1.2.3:8470"}}}));
  EXPECT_EQ(MasterOf(*resolver), "grpc://10.1.2.3:8470");
}

TEST_F(TPUClusterResolver, testFailedMetadata) {
  const auto spec = Resolver(WithCoordinator("nonexistent-tpu"))->Spec();
  EXPECT_TRUE(absl::IsNotFound(spec.status()));
  EXPECT_THAT(ErrorText(spec.status()),
              HasSubstr("cannot look up TPU 'nonexistent-tpu'"));
}

TEST_F(TPUClusterResolver, testNewNetworkEndpointFormat) {
  node_ = Pod();
  node_["networkEndpoints"].erase(1);
  node_["networkEndpoints"].erase(1);
  node_["networkEndpoints"].erase(1);
  const auto resolver = Resolver(WithCoordinator("test-tpu-1"));
  EXPECT_EQ(SpecOf(*resolver),
            Cluster({{"coordinator", List{"10.128.1.5:10203"}},
                     {"worker", List{"10.2.3.4:8470"}}}));
  EXPECT_EQ(MasterOf(*resolver), "grpc://10.2.3.4:8470");
}

TEST_F(TPUClusterResolver, testPodResolution) {
  node_ = Pod();
  const auto resolver = Resolver(WithCoordinator("test-tpu-1"));
  EXPECT_EQ(*SpecOf(*resolver).NumTasks("worker"), 4u);
  EXPECT_EQ(*SpecOf(*resolver).NumTasks("coordinator"), 1u);
  EXPECT_EQ(MasterOf(*resolver), "grpc://10.2.3.4:8470");
}

TEST_F(TPUClusterResolver, testPodResolutionNoCoordinator) {
  node_ = Pod();
  EXPECT_EQ(Shown("tpu:test-tpu-1?project=test-project&zone=us-central1-c"),
            of_pod_);
}

TEST_F(TPUClusterResolver, testGetMasterNoEntries) {
  node_ = Pod();
  node_["networkEndpoints"] = Json::array();
  const auto resolver = Resolver(Named("test-tpu-1"));
  EXPECT_EQ(SpecOf(*resolver), Cluster({{"worker", List{}}}));
  EXPECT_THAT(MasterOf(*resolver), HasSubstr("no task 0"));
}

TEST_F(TPUClusterResolver, testShouldResolveGrpc) {
  EXPECT_EQ(Shown("tpu:grpc://10.1.2.3:8470"),
            "ClusterSpec({'worker': ['10.1.2.3:8470']})");
  EXPECT_TRUE(server_.log().empty());
}

TEST_F(TPUClusterResolver, testShouldResolveName) {
  EXPECT_THAT(Shown("tpu:mytpu"), HasSubstr("cannot look up TPU 'mytpu'"));
}

TEST_F(TPUClusterResolver, testShouldResolveList) {
  EXPECT_EQ(Shown("tpu:grpc://10.1.2.3:8470,10.1.2.4:8470"),
            "ClusterSpec({'worker': ['10.1.2.3:8470', '10.1.2.4:8470']})");
}

TEST_F(TPUClusterResolver, testShouldResolveGrpcPrefix) {
  EXPECT_THAT(Shown("tpu:grpctpu"), HasSubstr("cannot look up TPU 'grpctpu'"));
}

TEST_F(TPUClusterResolver, testNoCallComputeMetadata) {
  const auto resolver = Resolver(Named("grpc://10.1.2.3:8470"));
  EXPECT_EQ(MasterOf(*resolver), "grpc://10.1.2.3:8470");
  EXPECT_EQ(SpecOf(*resolver), Cluster({{"worker", List{"10.1.2.3:8470"}}}));
  EXPECT_TRUE(server_.log().empty());
}

TEST_F(TPUClusterResolver, testGkeEnvironmentForDonut) {
  variables_["KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"] = "grpc://10.120.27.5:8470";
  const auto resolver = Resolver({});
  EXPECT_EQ(MasterOf(*resolver), "grpc://10.120.27.5:8470");
  EXPECT_EQ(SpecOf(*resolver), Cluster({{"worker", List{"10.120.27.5:8470"}}}));
}

TEST_F(TPUClusterResolver, testGkeEnvironmentForPod) {
  variables_["KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"] =
      "grpc://10.120.27.5:8470,grpc://10.120.27.6:8470";
  const auto resolver = Resolver({});
  EXPECT_EQ(MasterOf(*resolver), "grpc://10.120.27.5:8470");
  EXPECT_EQ(
      SpecOf(*resolver),
      Cluster({{"worker", List{"10.120.27.5:8470", "10.120.27.6:8470"}}}));
}

TEST_F(TPUClusterResolver, testRpcDetectionForGrpcString) {
  auto made = TpuResolver::Create(Context(), Named("grpc://10.1.2.3:8470"));
  EXPECT_EQ(MasterOf(**made), "grpc://10.1.2.3:8470");
  made = TpuResolver::Create(Context(), Named("10.1.2.3:8470"));
  EXPECT_EQ(MasterOf(**made), "10.1.2.3:8470");
}

TEST_F(TPUClusterResolver, testOverrideTaskTypeAndIndexAndGetMaster) {
  node_ = Pod();
  TpuOptions options = Named("test-tpu-1");
  EXPECT_EQ(MasterOf(*Resolver(options)), "grpc://10.2.3.4:8470");
  options.overrides.task_type = "worker";
  options.overrides.task_id = 3;
  EXPECT_EQ(MasterOf(*Resolver(options)), "grpc://10.2.3.7:8470");
}

TEST_F(TPUClusterResolver, testVerifySameCoreCount) {
  node_ = Pod();
  node_["acceleratorType"] = "v2-9";
  const auto counts = Resolver(Named("test-tpu-1"))->NumAccelerators();
  EXPECT_TRUE(absl::IsFailedPrecondition(counts.status()));
  EXPECT_THAT(ErrorText(counts.status()), HasSubstr("v2-9 with 4 hosts"));
}

TEST_F(TPUClusterResolver, testNumAcceleratorsSuccess) {
  node_ = Pod();
  node_["acceleratorType"] = "v2-8";
  EXPECT_EQ(*Resolver(Named("test-tpu-1"))->NumAccelerators(),
            (AcceleratorCounts{{"TPU", 2}}));
}

TEST_F(TPUClusterResolver, testNumAcceleratorsRetryFailure) {
  node_ = Pod();
  node_.erase("state");
  const auto counts = Resolver(Named("test-tpu-1"))->NumAccelerators();
  EXPECT_TRUE(absl::IsUnavailable(counts.status()));
  EXPECT_THAT(ErrorText(counts.status()), HasSubstr("in no known state"));
}

TEST_F(TPUClusterResolver, testLocalTpuResolver) {
  const auto resolver = Resolver(Named("local"));
  EXPECT_EQ(SpecOf(*resolver), ClusterSpec());
  EXPECT_EQ(MasterOf(*resolver), "");
}

TEST_F(TPUClusterResolver, testEnvironment) {
  EXPECT_EQ(*Resolver(Named("grpc://10.1.2.3:8470"))->EnvironmentName(),
            "google");
}

// ---- tests without an original ----

TEST_F(TPUClusterResolver, TheMetadataServerKnowsTheHostsOfATpu) {
  metadata_["instance/attributes/worker-network-endpoints"] =
      "unknown:unknown:10.0.0.1,unknown:unknown:10.0.0.2";
  metadata_["instance/attributes/agent-worker-number"] = "1";
  metadata_["instance/attributes/accelerator-type"] = "v4-16";
  EXPECT_EQ(Shown("tpu:?port=7"),
            "ClusterSpec({'worker': ['10.0.0.1:7', '10.0.0.2:7']})");
  EXPECT_EQ(OwnTask(*Resolver({})), "worker/1");
  EXPECT_EQ(*Resolver({})->NumAccelerators(), (AcceleratorCounts{{"TPU", 8}}));
  metadata_["instance/attributes/agent-worker-number"] = "2";
  EXPECT_THAT(Shown("tpu:"), HasSubstr("this is worker 2 of 2"));
  metadata_["instance/attributes/worker-network-endpoints"] = "10.0.0.1";
  EXPECT_THAT(Shown("tpu:"), HasSubstr("not '10.0.0.1'"));
}

TEST_F(TPUClusterResolver, TheVariablesOfATpuAreReadAndChecked) {
  variables_ = {{"TPU_WORKER_HOSTNAMES", "h0,h1:5"}, {"TPU_WORKER_ID", "0"}};
  EXPECT_EQ(Shown("tpu:"), "ClusterSpec({'worker': ['h0:8470', 'h1:5']})");
  EXPECT_EQ(OwnTask(*Resolver({})), "worker/0");
  for (const char* id : {"2", "-1", ""}) {
    variables_["TPU_WORKER_ID"] = id;
    EXPECT_THAT(Shown("tpu:"), HasSubstr("TPU_WORKER_ID is"));
  }
  variables_["TPU_WORKER_HOSTNAMES"] = "h0,,h1";
  EXPECT_THAT(Shown("tpu:"), HasSubstr("TPU_WORKER_HOSTNAMES is a list"));
  variables_ = {{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "grpc://10.0.0.1"}};
  EXPECT_THAT(Shown("tpu:"),
              HasSubstr("KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS: task 0"));
}

TEST_F(TPUClusterResolver, ANameMayStandInAVariable) {
  node_ = Pod();
  variables_["TPU_NAME"] = "test-tpu-1";
  EXPECT_EQ(Shown("tpu:"), of_pod_);
}

TEST_F(TPUClusterResolver, BadUrisAndAnswersAreNamed) {
  EXPECT_THAT(Shown("tpu:grpc://10.0.0.1"), HasSubstr("task 0"));
  EXPECT_THAT(Shown("tpu:x?coordinator=c"), HasSubstr("coordinator_address"));
  EXPECT_THAT(Shown("tpu:x?prot=1"), HasSubstr("did you mean \"port\"?"));
  node_ = Pod();
  node_["networkEndpoints"][2].erase("ipAddress");
  EXPECT_THAT(Shown("tpu:test-tpu-1"),
              HasSubstr("endpoint 2 has no ipAddress"));
  node_["networkEndpoints"] = 3;
  EXPECT_THAT(Shown("tpu:test-tpu-1"),
              HasSubstr("networkEndpoints are no list"));
}

}  // namespace
}  // namespace feedmill
