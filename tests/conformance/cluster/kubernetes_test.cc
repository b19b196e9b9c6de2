// tensorflow/python/distribute/cluster_resolver/kubernetes_cluster_resolver_
// test.py, each test under its own name, against a server that answers like the
// Kubernetes API. Then tests of the API's variations and of faults of the
// original.

#include <nlohmann/json.hpp>

#include "cloud/http_client.h"
#include "cloud/kubernetes_resolver.h"
#include "tests/conformance/cluster/cloud_registry.h"
#include "tests/conformance/cluster/local_http_server.h"
#include "tests/conformance/cluster/resolver_fixture.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kToken[] = "/var/run/secrets/kubernetes.io/serviceaccount/token";

Json Pod(const std::string& name, const std::string& ip,
         const std::string& phase = "Running", bool ready = true) {
  return {{"metadata", {{"name", name}}},
          {"status",
           {{"phase", phase},
            {"podIP", ip},
            {"hostIP", "192.168.0.1"},
            {"conditions",
             {{{"type", "Initialized"}, {"status", "True"}},
              {{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}}}};
}

Json Service(const std::string& name, const std::vector<int>& ports) {
  Json list = Json::array();
  for (const int port : ports) list.push_back({{"port", port}});
  return {{"metadata", {{"name", name}, {"namespace", "team"}}},
          {"spec", {{"clusterIP", "None"}, {"ports", list}}}};
}

// An API server, and a resolver's machine: inside a pod, or a workstation.
class Kubernetes : public ::testing::Test {
 protected:
  Kubernetes() : server_([this](const ServedRequest& r) { return Answer(r); }) {
    files_["kubeconfig"] =
        "{current-context: here, contexts: [{name: here, context: {cluster: c,"
        " user: u, namespace: team}}], clusters: [{name: c, cluster: {server: "
        "'" +
        server_.url() + "/'}}], users: [{name: u, user: {token: first}}]}";
    variables_["KUBECONFIG"] = ":nowhere:kubeconfig";
  }

  // Places this process in a pod.
  void MoveIntoThePod() {
    variables_["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
    variables_["KUBERNETES_SERVICE_PORT"] = "443";
    const std::string folder =
        std::string(kToken).substr(0, sizeof(kToken) - 6);
    files_[kToken] = "first\n";
    files_[folder + "ca.crt"] = "CERTIFICATE";
    files_[folder + "namespace"] = "own";
  }

  CloudContext Context() {
    CloudContext context{Machine(variables_)};
    context.read_file =
        [this](const std::string& path) -> absl::StatusOr<std::string> {
      const auto file = files_.find(path);
      if (file == files_.end()) return NotFound("there is no file {}", path);
      return file->second;
    };
    // The pod's https://10.96.0.1:443 is the local server. TLS is tested with
    // the command.
    context.open_http = [this](absl::Duration limit) -> HttpFetch {
      return [this, fetch = OpenHttp(limit)](HttpRequest request) {
        const std::string in_pod = "https://10.96.0.1:443";
        if (request.url.starts_with(in_pod)) {
          EXPECT_EQ(request.tls.authorities, "CERTIFICATE");
          EXPECT_TRUE(request.tls.verify);
          request.tls = {};
          request.url = server_.url() + request.url.substr(in_pod.size());
        }
        request.direct = true;
        return fetch(request);
      };
    };
    return context;
  }

  KubernetesResolver Resolver(KubernetesOptions options = {}) {
    options.timeout = absl::Seconds(30);
    return KubernetesResolver(Context(), std::move(options));
  }

  // Resolves a URI; returns the cluster's text or the error.
  std::string Shown(const std::string& uri) {
    const CloudContext context = Context();
    const auto made = CloudResolvers(context.open_http).Make(uri, context);
    if (!made.ok()) return ErrorText(made.status());
    const auto view = (*made)->Resolve();
    return view.ok() ? view->spec.ToString() : ErrorText(view.status());
  }

  ServedAnswer Answer(const ServedRequest& request) {
    if (override_) {
      if (auto answer = override_(request)) return *answer;
    }
    const auto authorization = request.headers.find("authorization");
    if (authorization == request.headers.end() ||
        authorization->second != "Bearer " + token_) {
      return {401, R"({"kind": "Status", "message": "Unauthorized"})"};
    }
    const Json& all =
        lists_[request.path + " " + request.query.at("labelSelector")];
    // Pages have `page_` items; the token is the position of the next page.
    const auto at = request.query.find("continue");
    const size_t from =
        at == request.query.end() ? 0 : std::stoul(at->second.substr(4));
    Json items = Json::array();
    for (size_t k = from; k < std::min(from + page_, all.size()); ++k) {
      items.push_back(all[k]);
    }
    Json answer = {{"kind", "List"}, {"metadata", Json::object()}};
    answer["items"] = items;
    if (from + page_ < all.size()) {
      answer["metadata"]["continue"] = fmt::format("a+/={}", from + page_);
    }
    return {200, answer.dump()};
  }

  static constexpr char kPods[] = "/api/v1/namespaces/team/pods ";
  static constexpr char kServices[] = "/api/v1/namespaces/team/services ";

  Variables variables_;
  std::map<std::string, std::string> files_;
  std::map<std::string, Json> lists_;  // by path and selector
  size_t page_ = 500;
  std::string token_ = "first";
  std::function<std::optional<ServedAnswer>(const ServedRequest&)> override_;
  LocalHttpServer server_;
};

using KubernetesClusterResolver = Kubernetes;

TEST_F(KubernetesClusterResolver, testSingleItemSuccessfulRetrieval) {
  lists_[std::string(kPods) + "job-name=tensorflow"] = {
      Pod("tensorflow-abc123", "10.1.2.3")};
  EXPECT_EQ(SpecOf(Resolver()), Cluster({{"worker", List{"10.1.2.3:8470"}}}));
}

TEST_F(KubernetesClusterResolver, testSingleItemSuccessfulRetrievalInCluster) {
  MoveIntoThePod();
  lists_["/api/v1/namespaces/own/pods job-name=tensorflow"] = {
      Pod("tensorflow-abc123", "10.1.2.3")};
  EXPECT_EQ(SpecOf(Resolver()), Cluster({{"worker", List{"10.1.2.3:8470"}}}));
}

TEST_F(KubernetesClusterResolver,
       testValueErrorRaisedOnInvalidExecutableLocation) {
  variables_.clear();
  ExpectRefused(Resolver().Spec().status(),
                {"KUBERNETES_SERVICE_HOST", "KUBECONFIG", "kubeconfig=PATH"});
}

TEST_F(KubernetesClusterResolver, testSuccessfulRetrievalWithSort) {
  lists_[std::string(kPods) + "job-name=tensorflow"] = {
      Pod("tensorflow-abc123", "10.1.2.3"),
      Pod("tensorflow-def456", "10.1.2.4"),
      Pod("tensorflow-999999", "10.1.2.5")};
  EXPECT_EQ(SpecOf(Resolver()),
            Cluster({{"worker", List{"10.1.2.5:8470", "10.1.2.3:8470",
                                     "10.1.2.4:8470"}}}));
}

TEST_F(KubernetesClusterResolver, testGetMasterWithOverrideParameters) {
  lists_[std::string(kPods) + "job-name=tensorflow"] = {
      Pod("worker-0", "10.1.2.3"), Pod("worker-1", "10.1.2.4"),
      Pod("worker-2", "10.1.2.5")};
  KubernetesOptions options;
  options.overrides = {"worker", 0, "grpc", {}};
  const auto resolver = Resolver(options);
  EXPECT_EQ(OwnTask(resolver), "worker/0");
  EXPECT_EQ(MasterOf(resolver), "grpc://10.1.2.3:8470");
  EXPECT_EQ(MasterOf(resolver, Task("worker", 2)), "grpc://10.1.2.5:8470");
}

// The original fails for the whole cluster. Here a pod that does not run is not
// a member.
TEST_F(KubernetesClusterResolver, testNonRunningPod) {
  lists_[std::string(kPods) + "job-name=tensorflow"] = {
      Pod("tensorflow-abc123", "10.1.2.3", "Failed")};
  EXPECT_EQ(SpecOf(Resolver()), Cluster({{"worker", List{}}}));
}

TEST_F(KubernetesClusterResolver, testMultiplePodSelectorsAndWorkers) {
  lists_[std::string(kPods) + "job-name=worker1"] = {
      Pod("tensorflow-abc123", "10.1.2.3"),
      Pod("tensorflow-def456", "10.1.2.4"),
      Pod("tensorflow-999999", "10.1.2.5")};
  lists_[std::string(kPods) + "job-name=worker2"] = {
      Pod("tensorflow-abc124", "10.1.2.6"),
      Pod("tensorflow-def457", "10.1.2.7"),
      Pod("tensorflow-999990", "10.1.2.8")};
  lists_[std::string(kPods) + "job-name=ps"] = {
      Pod("tensorflow-ps-1", "10.1.2.1"), Pod("tensorflow-ps-2", "10.1.2.2")};
  KubernetesOptions options;
  options.jobs = {{"worker", {"job-name=worker1", "job-name=worker2"}},
                  {"ps", {"job-name=ps"}}};
  const ClusterSpec wanted = Cluster(
      {{"ps", List{"10.1.2.1:8470", "10.1.2.2:8470"}},
       {"worker", List{"10.1.2.5:8470", "10.1.2.3:8470", "10.1.2.4:8470",
                       "10.1.2.8:8470", "10.1.2.6:8470", "10.1.2.7:8470"}}});
  EXPECT_EQ(SpecOf(Resolver(options)), wanted);
  EXPECT_EQ(Shown("kubernetes:?worker=job-name%3Dworker1;job-name%3Dworker2&"
                  "ps=job-name%3Dps"),
            wanted.ToString());
}

// ---- variations of the API ----

TEST_F(Kubernetes, ListsAreReadPageByPage) {
  page_ = 2;
  Json& pods = lists_[std::string(kPods) + "app=x,tier in (a,b)"];
  for (int k = 0; k < 5; ++k) {
    pods.push_back(Pod(fmt::format("w-{}", k), fmt::format("10.0.0.{}", k)));
  }
  EXPECT_EQ(Shown("kubernetes:?port=7&w=app%3Dx%2Ctier%20in%20(a%2Cb)"),
            "ClusterSpec({'w': ['10.0.0.0:7', '10.0.0.1:7', '10.0.0.2:7', "
            "'10.0.0.3:7', '10.0.0.4:7']})");
  EXPECT_EQ(server_.log().size(), 3u);
  EXPECT_THAT(server_.log().back(), HasSubstr("&continue=a%2B%2F%3D4"));
}

TEST_F(Kubernetes, AListThatExpiredIsReadAgainFromItsStart) {
  page_ = 1;
  lists_[std::string(kPods) + "a=b"] = {Pod("w-0", "10.0.0.1"),
                                        Pod("w-1", "10.0.0.2")};
  int gone = 1;
  override_ = [&](const ServedRequest& request) -> std::optional<ServedAnswer> {
    if (!request.query.contains("continue") || gone-- <= 0) return {};
    return ServedAnswer{410, R"({"message": "the continue parameter is old"})"};
  };
  EXPECT_EQ(Shown("kubernetes:?port=1&w=a%3Db"),
            "ClusterSpec({'w': ['10.0.0.1:1', '10.0.0.2:1']})");
  EXPECT_EQ(server_.log().size(), 4u);
  gone = 1'000;
  EXPECT_THAT(Shown("kubernetes:?port=1&w=a%3Db"),
              HasSubstr("answers 410: the continue parameter is old"));
}

TEST_F(Kubernetes, ATokenThatExpiredIsReadAgain) {
  MoveIntoThePod();
  page_ = 1;
  lists_["/api/v1/namespaces/own/pods a=b"] = {Pod("w-0", "10.0.0.1"),
                                               Pod("w-1", "10.0.0.2")};
  override_ = [&](const ServedRequest& request) -> std::optional<ServedAnswer> {
    if (request.query.contains("continue")) {
      token_ = "second";  // from now on, also in the file
      files_[kToken] = "second\n";
    }
    return {};
  };
  EXPECT_EQ(Shown("kubernetes:?port=1&w=a%3Db"),
            "ClusterSpec({'w': ['10.0.0.1:1', '10.0.0.2:1']})");
  token_ = "third";
  EXPECT_THAT(Shown("kubernetes:?port=1&w=a%3Db"),
              HasSubstr("answers 401: Unauthorized"));
}

TEST_F(Kubernetes, ErrorsSayWhatToDo) {
  const std::pair<ServedAnswer, std::string> answers[] = {
      {{403, R"({"message": "pods is forbidden"})"},
       "allow the account to list pods in namespace team: a Role and a "
       "RoleBinding: "},
      {{400, R"({"message": "unable to parse"})"}, "400: unable to parse"},
      {{500, "oh"}, "/pods answers 500: oh"},
      {{200, "<html>"}, "no JSON object: '<html>'"},
      {{200, "{}"}, "has no items"},
      {{200, R"({"items": 3})"}, "no list"},
      {{200, R"({"items": [{"metadata": {}, "status": {"phase": "P"}}]})"},
       "item 0 has no metadata.name"},
      {{200, R"({"items": [{"metadata": {"name": "p"}}]})"},
       "pod 'p' has no status.phase"},
      {{307, "", {{"Location", "http://other"}}}, "redirect"},
  };
  for (const auto& [answer, text] : answers) {
    override_ = [&answer = answer](const ServedRequest&) {
      return std::optional(answer);
    };
    EXPECT_THAT(Shown("kubernetes:?w=a%3Db"), HasSubstr(text));
  }
  override_ = [](const ServedRequest&) {
    return std::optional(ServedAnswer{200, R"({"items": null})", {}});
  };
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db"), "ClusterSpec({'w': []})");
}

TEST_F(Kubernetes, ASlowServerIsGivenUp) {
  override_ = [](const ServedRequest&) {
    return std::optional(ServedAnswer{200, "", {}, true});
  };
  EXPECT_THAT(Shown("kubernetes:?w=a%3Db&timeout=50ms"),
              HasSubstr("did not answer within 50ms"));
}

TEST_F(Kubernetes, ServicesHaveTheirNamesForAddresses) {
  lists_[std::string(kServices) + "a=b"] = {Service("w-10", {80}),
                                            Service("w-9", {81})};
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db&address=service"),
            "ClusterSpec({'w': ['w-9.team.svc:81', 'w-10.team.svc:80']})");
  lists_[std::string(kServices) + "a=b"] = {Service("w", {80, 81})};
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db&address=service&port=81"),
            "ClusterSpec({'w': ['w.team.svc:81']})");
  EXPECT_THAT(Shown("kubernetes:?w=a%3Db&address=service"),
              HasSubstr("service 'w' has 2 ports, not one; write port=N"));
  EXPECT_THAT(Shown("kubernetes:?w=a%3Db&address=service&port=9"),
              HasSubstr("service 'w' has no port 9"));
}

TEST_F(Kubernetes, ThePodThatThisRunsInIsItsTask) {
  lists_[std::string(kPods) + "a=b"] = {Pod("w-0", "fd00::1"),
                                        Pod("w-1", "10.0.0.2")};
  variables_["HOSTNAME"] = "w-1";
  KubernetesOptions options;
  options.jobs = {{"worker", {"a=b"}}};
  EXPECT_EQ(OwnTask(Resolver(options)), "worker/1");
  variables_["POD_NAME"] = "w-0";
  EXPECT_EQ(OwnTask(Resolver(options)), "worker/0");
  EXPECT_EQ(MasterOf(Resolver(options)), "[fd00::1]:8470");
}

TEST_F(Kubernetes, BadKubeconfigsAreNamedWithTheField) {
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = files_["kubeconfig"];
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::pair<std::string, std::string> texts[] = {
      {"[", "bad: not YAML"},
      {"[]", "bad: the text is no kubeconfig"},
      {"{}", "bad: no current-context"},
      {with("current-context: here", "current-context: there"),
       "'contexts' has no entry 'there'"},
      {with("cluster: c,", "cluster: [],"), "field 'cluster' is a string"},
      {with("name: c,", "name: d,"), "'clusters' has no entry 'c'"},
      {with("server:", "sever:"), "field 'server' is a URL"},
      {with("{server:", "{proxy-url: x, server:"), "'proxy-url' is not"},
      {with("{server:", "{certificate-authority-data: '?', server:"),
       "no Base64"},
      {with("{server:", "{certificate-authority: ca, server:"),
       "field 'certificate-authority': there is no file ca"},
      {with("{token: first}", "{exec: {command: x}}"), "'exec' is not"},
      {with("{token: first}", "{client-key-data: YQ==}"), "belong together"},
      {with(server_.host(), "example.org:1"), "unencrypted"},
  };
  for (const auto& [text, error] : texts) {
    files_["bad"] = text;
    const std::string shown = Shown("kubernetes:?w=a%3Db&kubeconfig=bad");
    EXPECT_THAT(shown, HasSubstr(error));
    EXPECT_THAT(shown, HasSubstr("bad: "));
  }
}

TEST_F(Kubernetes, BadUrisAndVariablesAreNamed) {
  const std::pair<const char*, const char*> uris[] = {
      {"kubernetes:", "needs the labels"},
      {"kubernetes:x?w=a", "takes no path"},
      {"kubernetes:?namspace=x&w=a", "did you mean \"namespace\"?"},
      {"kubernetes:?w=a;;b", "'w'"},
      {"kubernetes:?w=", "'w'"},
      {"kubernetes:?w=a&port=0", "'port'"},
      {"kubernetes:?w=a&address=node", "pod, host or service"},
      {"kubernetes:?w=a&not_ready=2", "'not_ready'"},
      {"kubernetes:?w=a&timeout=soon", "'timeout'"},
  };
  for (const auto& [uri, error] : uris) {
    EXPECT_THAT(Shown(uri), HasSubstr(error)) << uri;
  }
  lists_[std::string(kPods) + "a"] = Json::array();
  EXPECT_EQ(Shown("kubernetes:?job.ports=a"), "ClusterSpec({'ports': []})");
  MoveIntoThePod();
  variables_["KUBERNETES_SERVICE_PORT"] = "tcp://10.0.0.1:443";
  EXPECT_THAT(Shown("kubernetes:?w=a"), HasSubstr("KUBERNETES_SERVICE_PORT"));
  variables_.erase("KUBERNETES_SERVICE_PORT");
  files_.erase(kToken);
  EXPECT_THAT(Shown("kubernetes:?w=a"),
              HasSubstr("automountServiceAccountToken"));
}

// ---- faults of the original ----

using FaultsOfTheOriginals = Kubernetes;

TEST_F(FaultsOfTheOriginals, InAPodItsAccountIsTakenAndNoKubeconfig) {
  MoveIntoThePod();
  files_.erase("kubeconfig");
  lists_["/api/v1/namespaces/own/pods a=b"] = {Pod("w", "10.0.0.1")};
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db"),
            "ClusterSpec({'w': ['10.0.0.1:8470']})");
}

TEST_F(FaultsOfTheOriginals, PodsAddressesAreTheirOwnUnlessTheHostsAreWanted) {
  lists_[std::string(kPods) + "a=b"] = {Pod("w", "10.0.0.1")};
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db"),
            "ClusterSpec({'w': ['10.0.0.1:8470']})");
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db&address=host"),
            "ClusterSpec({'w': ['192.168.0.1:8470']})");
}

TEST_F(FaultsOfTheOriginals, OnlyOneNamespaceIsListed) {
  lists_["/api/v1/namespaces/other/pods a=b"] = {Pod("w", "10.0.0.9")};
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db"), "ClusterSpec({'w': []})");
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db&namespace=other"),
            "ClusterSpec({'w': ['10.0.0.9:8470']})");
}

TEST_F(FaultsOfTheOriginals, PodsThatDoNotServeAreLeftOut) {
  Json going = Pod("w-3", "10.0.0.4");
  going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  lists_[std::string(kPods) + "a=b"] = {
      Pod("w-0", "10.0.0.1"), Pod("w-1", "10.0.0.2", "Running", false),
      Pod("w-2", "", "Pending", false), going,
      Pod("w-4", "10.0.0.5", "Succeeded")};
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db&port=1"),
            "ClusterSpec({'w': ['10.0.0.1:1']})");
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db&port=1&not_ready=1"),
            "ClusterSpec({'w': ['10.0.0.1:1', '10.0.0.2:1']})");
}

TEST_F(FaultsOfTheOriginals, PodsAreInTheOrderOfTheirNumbers) {
  lists_[std::string(kPods) + "a=b"] = {Pod("w-10", "10.0.0.10"),
                                        Pod("w-9", "10.0.0.9")};
  EXPECT_EQ(Shown("kubernetes:?w=a%3Db&port=1"),
            "ClusterSpec({'w': ['10.0.0.9:1', '10.0.0.10:1']})");
}

TEST_F(FaultsOfTheOriginals, APodOfTwoSelectorsIsOneTask) {
  lists_[std::string(kPods) + "a"] = {Pod("w-0", "10.0.0.1")};
  lists_[std::string(kPods) + "b"] = {Pod("w-0", "10.0.0.1"),
                                      Pod("w-1", "10.0.0.2")};
  EXPECT_EQ(Shown("kubernetes:?w=a;b&port=1"),
            "ClusterSpec({'w': ['10.0.0.1:1', '10.0.0.2:1']})");
}

}  // namespace
}  // namespace feedmill
