// tfconfig_cluster_resolver_test.py, each test under its own name. Then the
// faults of the originals, each shown absent. Addresses here have a port.

#include "core/cluster/given_resolvers.h"
#include "tests/conformance/cluster/resolver_fixture.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

TfConfigResolver Given(const std::string& tf_config,
                       ResolverOverrides overrides = {}, int gpus = 0) {
  return TfConfigResolver(Machine({{"TF_CONFIG", tf_config}}, gpus),
                          std::move(overrides));
}

constexpr char kJobs[] =
    R"("cluster": {"ps": ["ps0:1", "ps1:1"], "worker": ["w0:1", "w1:1"]})";

std::string WithJobs(const std::string& rest) {
  return fmt::format("{{{}{}{}}}", kJobs, rest.empty() ? "" : ", ", rest);
}

TEST(TFConfigClusterResolver, testNormalClusterSpecRead) {
  EXPECT_EQ(SpecOf(Given(WithJobs(R"("task": {"type": "ps", "index": 1})"))),
            Cluster({{"ps", List{"ps0:1", "ps1:1"}},
                     {"worker", List{"w0:1", "w1:1"}}}));
}

TEST(TFConfigClusterResolver, testSparseClusterSpecRead) {
  EXPECT_EQ(
      SpecOf(Given(R"({"cluster": {"ps": ["ps0:1"], "worker": {"1": "w1:1"}},)"
                   R"( "task": {"type": "worker", "index": 1}})")),
      Cluster({{"ps", List{"ps0:1"}}, {"worker", JobTasks{{1, "w1:1"}}}}));
}

TEST(TFConfigClusterResolver, testAutomaticMasterRead) {
  EXPECT_EQ(MasterOf(Given(WithJobs(R"("task": {"type": "ps", "index": 0})"))),
            "ps0:1");
}

TEST(TFConfigClusterResolver, testSpecifiedTaskTypeAndIndexMasterRead) {
  const auto resolver =
      Given(WithJobs(R"("task": {"type": "ps", "index": 0})"));
  EXPECT_EQ(MasterOf(resolver, Task("worker", 1)), "w1:1");
}

TEST(TFConfigClusterResolver, testSessionMasterRead) {
  const auto resolver = Given(
      WithJobs(R"("session_master": "sessionmaster:2222", "rpc_layer": "grpc",)"
               R"( "task": {"type": "worker", "index": 0})"));
  EXPECT_EQ(MasterOf(resolver), "sessionmaster:2222");
}

TEST(TFConfigClusterResolver, testRpcLayerRead) {
  const auto resolver = Given(
      WithJobs(R"("rpc_layer": "grpc", "task": {"type": "ps", "index": 0})"));
  EXPECT_EQ(MasterOf(resolver), "grpc://ps0:1");
}

TEST(TFConfigClusterResolver, testTaskTypeIndexRpcRead) {
  const auto resolver = Given(
      WithJobs(R"("rpc_layer": "grpc", "task": {"type": "ps", "index": 0})"));
  EXPECT_EQ(OwnTask(resolver), "ps/0");
  EXPECT_EQ(*resolver.RpcLayer(), "grpc");
}

TEST(TFConfigClusterResolver, testParameterOverrides) {
  const auto resolver = Given(
      WithJobs(R"("rpc_layer": "grpc", "task": {"type": "ps", "index": 0})"),
      {"ps", 1, "http", {}});
  EXPECT_EQ(MasterOf(resolver), "http://ps1:1");
  EXPECT_EQ(OwnTask(resolver), "ps/1");
  EXPECT_EQ(MasterOf(resolver, {"worker", 1, "grpc"}), "grpc://w1:1");
}

TEST(TFConfigClusterResolver, testTaskTypeCastToString) {
  const auto resolver =
      Given(R"({"cluster": {"123456": ["ps0:1", "ps1:1"], "worker": ["w0:1"]},)"
            R"( "rpc_layer": "grpc", "task": {"type": 123456, "index": 0}})");
  EXPECT_EQ(OwnTask(resolver), "123456/0");
  EXPECT_EQ(MasterOf(resolver), "grpc://ps0:1");
}

TEST(TFConfigClusterResolver, testTaskIndexCastToInteger) {
  EXPECT_EQ(OwnTask(Given(WithJobs(R"("task": {"type": "ps", "index": "1"})"))),
            "ps/1");
}

TEST(TFConfigClusterResolver, testTaskIndexOverride) {
  EXPECT_EQ(OwnTask(Given(WithJobs(R"("task": {"type": "ps", "index": 0})"),
                          {{}, 1, {}, {}})),
            "ps/1");
}

TEST(TFConfigClusterResolver, testZeroItemsInClusterSpecMasterRead) {
  EXPECT_EQ(MasterOf(Given("{}")), "");
}

TEST(TFConfigClusterResolver, testOneItemInClusterSpecMasterRead) {
  EXPECT_EQ(MasterOf(Given(R"({"cluster": {"worker": ["w0:1"]}})")), "");
}

TEST(TFConfigClusterResolver, testNumAcceleratorsFilterTasksByEnvVar) {
  const auto resolver =
      Given(WithJobs(R"("task": {"type": "worker", "index": 1})"), {}, 2);
  EXPECT_EQ(*resolver.NumAccelerators(), (AcceleratorCounts{{"GPU", 2}}));
  EXPECT_EQ(*resolver.NumAccelerators(Task("worker", 1)),
            (AcceleratorCounts{{"GPU", 2}}));
  EXPECT_FALSE(resolver.NumAccelerators(Task("worker", 0)).ok());
}

// ---- faults of the originals ----

TEST(FaultsOfTheOriginals, TfConfigNotSetIsAClusterWithoutJobs) {
  const TfConfigResolver resolver(Machine({}));
  EXPECT_FALSE(SpecOf(resolver));
  EXPECT_EQ(OwnTask(resolver), "-/-");
  EXPECT_EQ(MasterOf(resolver), "");
}

TEST(FaultsOfTheOriginals, BadTfConfigsNameTheVariableAndTheField) {
  const std::pair<std::string, std::vector<std::string>> wrong[] = {
      {"", {"JSON"}},
      {"{", {"JSON"}},
      {"cluster: {}", {"JSON"}},
      {"[1]", {"map"}},
      {R"({"cluster": ["h:1"]})", {"'cluster'", "map"}},
      {R"({"cluster": {"worker": "h:1"}})", {"'cluster'", "worker"}},
      {R"({"cluster": {"worker": ["h"]}})", {"'cluster'", "no port"}},
      {R"({"cluster": {}, "cluster": {}})", {"'cluster'", "twice"}},
      {R"({"task": 3})", {"'task'"}},
      {R"({"task": {"type": ["a"]}})", {"'task.type'"}},
      {R"({"task": {"index": -1}})", {"'task.index'", "-1"}},
      {R"({"task": {"index": 1.7}})", {"'task.index'", "1.7"}},
      {R"({"task": {"index": "99999999999999999999"}})", {"'task.index'"}},
      {R"({"rpc_layer": {}})", {"'rpc_layer'"}},
  };
  for (const auto& [text, words] : wrong) {
    const absl::Status status = Given(text).Spec().status();
    ExpectRefused(status, words);
    ExpectRefused(status, {"TF_CONFIG"});
  }
}

TEST(FaultsOfTheOriginals, TfConfigsEnvironmentIsRead) {
  EXPECT_EQ(*Given(R"({"environment": "google"})").EnvironmentName(), "google");
  EXPECT_EQ(*Given("{}").EnvironmentName(), "");
  EXPECT_EQ(*Given(R"({"environment": "google"})", {{}, {}, {}, "cloud"})
                 .EnvironmentName(),
            "cloud");
}

TEST(FaultsOfTheOriginals, AnEmptyJobInTfConfigIsAJob) {
  const auto resolver = Given(R"({"cluster": {"worker": []}})");
  EXPECT_EQ(*SpecOf(resolver).NumTasks("worker"), 0u);
  EXPECT_EQ(MasterOf(resolver), "");
}

TEST(FaultsOfTheOriginals, WithoutATaskManyTasksHaveNoMaster) {
  EXPECT_EQ(MasterOf(Given(WithJobs(""))), "");
  EXPECT_THAT(MasterOf(Given(WithJobs(R"("task": {"type": "ps"})"))),
              HasSubstr("index is missing"));
  EXPECT_THAT(
      MasterOf(Given(WithJobs(R"("task": {"type": "evaluator", "index": 0})"))),
      HasSubstr("no job 'evaluator'"));
}

TEST(FaultsOfTheOriginals, UnknownFieldsOfTfConfigArePassedOver) {
  EXPECT_EQ(OwnTask(Given(WithJobs(
                R"("job": {"x": 1}, "model_dir": "/m",)"
                R"( "task": {"type": "ps", "index": 1, "trial": 2})"))),
            "ps/1");
}

}  // namespace
}  // namespace feedmill
