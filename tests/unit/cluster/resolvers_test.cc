// The resolvers without an original, the registry, and shared parts of
// resolvers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/base/status.h"
#include "core/cluster/accelerators.h"
#include "core/cluster/given_resolvers.h"
#include "core/cluster/host_context.h"
#include "core/cluster/job_layout.h"
#include "feedmill/resolver.h"
#include "tests/conformance/cluster/simple_resolver.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A configurable machine; its files can change during a test.
class Resolvers : public ::testing::Test {
 protected:
  ResolverContext Context() const {
    return {Environment([this](const std::string& name) {
              return Find(variables_, name);
            }),
            [this](const std::string& path) -> absl::StatusOr<std::string> {
              if (auto text = Find(files_, path)) return *text;
              return NotFound("there is no file {}", path);
            },
            []() -> absl::StatusOr<DeviceListing> { return DeviceListing(); }};
  }

  std::unique_ptr<ClusterResolver> Make(const std::string& uri) const {
    auto made = BuiltinResolvers().Make(uri, Context());
    EXPECT_TRUE(made.ok()) << uri << ": " << made.status();
    return made.ok() ? *std::move(made)
                     : std::make_unique<SimpleResolver>(ClusterView());
  }

  // Returns "ClusterSpec({…}) worker/3 layer", or the error.
  std::string Shown(const std::string& uri) const {
    auto made = BuiltinResolvers().Make(uri, Context());
    if (!made.ok()) return ErrorText(made.status());
    const auto view = (*made)->Resolve();
    if (!view.ok()) return ErrorText(view.status());
    return fmt::format(
        "{} {}/{} {}", view->spec.ToString(), view->task_type.value_or("-"),
        view->task_id ? std::to_string(*view->task_id) : "-", view->rpc_layer);
  }

  using Texts = std::map<std::string, std::string>;
  static std::optional<std::string> Find(const Texts& texts,
                                         const std::string& name) {
    const auto found = texts.find(name);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  }

  Texts variables_;
  Texts files_;
};

TEST_F(Resolvers, EnvReadsFeedmillsVariables) {
  EXPECT_EQ(Shown("env:"), "ClusterSpec({}) -/- ");
  variables_ = {{"FEEDMILL_CLUSTER", R"({"dispatcher": ["d:1"],)"
                                     R"( "worker": ["w0:1", "w1:1"]})"},
                {"FEEDMILL_JOB", "worker"},
                {"FEEDMILL_TASK", "1"},
                {"FEEDMILL_RPC_LAYER", "tcp"}};
  EXPECT_EQ(Shown("env:"),
            "ClusterSpec({'dispatcher': ['d:1'], 'worker': ['w0:1', 'w1:1']}) "
            "worker/1 tcp");
  EXPECT_EQ(*Make("env:")->Master(), "tcp://w1:1");
}

TEST_F(Resolvers, EnvInfersTheIndexOfAnOnlyTask) {
  variables_ = {{"FEEDMILL_CLUSTER", R"({"ps": {"37": "h:1"}})"},
                {"FEEDMILL_JOB", "ps"}};
  EXPECT_EQ(Shown("env:"), "ClusterSpec({'ps': {37: 'h:1'}}) ps/37 ");
}

TEST_F(Resolvers, EnvNamesTheVariableThatIsWrong) {
  const std::string cluster = R"({"worker": ["a:1", "b:1"]})";
  const std::pair<Texts, std::string> wrong[] = {
      {{{"FEEDMILL_CLUSTER", ""}}, "FEEDMILL_CLUSTER: not JSON"},
      {{{"FEEDMILL_CLUSTER", R"({"worker": ["a"]})"}}, "FEEDMILL_CLUSTER: job"},
      {{{"FEEDMILL_TASK", "0"}}, "FEEDMILL_JOB is not"},
      {{{"FEEDMILL_JOB", "ps"}}, "FEEDMILL_JOB: no job 'ps'"},
      {{{"FEEDMILL_CLUSTER", cluster}, {"FEEDMILL_JOB", "worker"}},
       "FEEDMILL_TASK must say"},
      {{{"FEEDMILL_CLUSTER", cluster},
        {"FEEDMILL_JOB", "worker"},
        {"FEEDMILL_TASK", "1x"}},
       "FEEDMILL_TASK is an integer"},
      {{{"FEEDMILL_CLUSTER", cluster},
        {"FEEDMILL_JOB", "worker"},
        {"FEEDMILL_TASK", "2"}},
       "FEEDMILL_TASK: no task 2"},
  };
  for (const auto& [variables, text] : wrong) {
    variables_ = variables;
    EXPECT_THAT(Shown("env:"), HasSubstr(text));
    EXPECT_TRUE(absl::IsInvalidArgument(Make("env:")->Spec().status()));
  }
}

TEST_F(Resolvers, AFileIsReadAgainWhenItChanges) {
  const auto resolver = Make("file:cluster.yaml");
  EXPECT_TRUE(absl::IsNotFound(resolver->Spec().status()));
  files_["cluster.yaml"] = "worker: [a:1]\n";
  EXPECT_EQ(resolver->Spec()->ToString(), "ClusterSpec({'worker': ['a:1']})");
  files_["cluster.yaml"] = "worker: [a:1, b:1]\n";
  EXPECT_EQ(*resolver->Spec()->NumTasks("worker"), 2u);
}

TEST_F(Resolvers, AFileIsYamlOrJsonWithOrWithoutATask) {
  const std::string jobs = "ClusterSpec({'worker': {3: 'h:1'}}) ";
  const std::pair<const char*, std::string> texts[] = {
      {"worker: {3: h:1}", jobs + "-/- "},
      {"{\"worker\": {\"3\": \"h:1\"}}", jobs + "-/- "},
      {"{\n\t\"worker\": {\n\t\t\"3\": \"h:1\"\n\t}\n}\n", jobs + "-/- "},
      {"cluster:\n  worker:\n    3: h:1\ntask: null\n", jobs + "-/- "},
      {"cluster: {worker: {3: h:1}}\ntask: {type: worker, index: 3}\n"
       "rpc_layer: tcp\n",
       jobs + "worker/3 tcp"},
      {"cluster: {}\ntask: {type: a, index: null}", "ClusterSpec({}) a/- "},
      {"cluster: [h:1]", "ClusterSpec({'cluster': ['h:1']}) -/- "},
      {"{}", "ClusterSpec({}) -/- "},
  };
  for (const auto& [text, shown] : texts) {
    files_["f"] = text;
    EXPECT_EQ(Shown("file:f"), shown) << text;
  }
  EXPECT_EQ(Shown("file:f?job=x&task=0&rpc_layer="), "ClusterSpec({}) x/0 ");
}

TEST_F(Resolvers, ABadFileIsNamedWithThePlace) {
  const std::pair<const char*, const char*> texts[] = {
      {"", "dir/f: the text is empty"},
      {"worker: h:1", "dir/f: line 1, column 9: job 'worker'"},
      {"cluster: {w: [h:1]}\ntaks: {}", "did you mean \"task\""},
      {"cluster: {w: [h:1]}\ntask: {index: -1}", "line 2, column 15: field"},
      {"a: [", "not YAML"},
      {"[h:1]", "map from job"},
  };
  for (const auto& [text, error] : texts) {
    files_["dir/f"] = text;
    EXPECT_THAT(Shown("file:dir/f"), HasSubstr(error)) << text;
    EXPECT_THAT(Shown("file:dir/f"), HasSubstr("dir/f: ")) << text;
  }
}

TEST_F(Resolvers, UrisAreDecodedAndChecked) {
  files_["a b?.yaml"] = "{}";
  EXPECT_EQ(Shown("file:a%20b%3f.yaml"), "ClusterSpec({}) -/- ");
  files_["/abs"] = "{}";
  EXPECT_EQ(Shown("file:///abs"), "ClusterSpec({}) -/- ");
  const std::pair<const char*, const char*> wrong[] = {
      {"cluster.yaml", "write file:cluster.yaml"},
      {"", "no scheme"},
      {"slrum:", "did you mean \"slurm\""},
      {"Env:", "no scheme"},
      {"env:x", "takes no path"},
      {"env:?jbo=x", "did you mean \"job\""},
      {"env:?job", "name=value"},
      {"env:?job=a&job=b", "twice"},
      {"env:?task=-1", "'task'"},
      {"env:?job=%4", "%25"},
      {"env:?job=%zz", "%25"},
      {"env:?job=%00", "%25"},
      {"file:", "needs a path"},
      {"file://host/path", "on this machine"},
      {"slurm:?port=0", "'port'"},
      {"slurm:?port=65536", "'port'"},
      {"slurm:?jobs=a:0", "'jobs'"},
      {"slurm:?jobs=a,b", "rest"},
      {"slurm:?jobs=a:1,a:2", "twice"},
  };
  for (const auto& [uri, error] : wrong) {
    EXPECT_THAT(Shown(uri), HasSubstr(error)) << uri;
    EXPECT_TRUE(absl::IsInvalidArgument(
        BuiltinResolvers().Make(uri, Context()).status()))
        << uri;
  }
}

constexpr char kTfConfig[] =
    R"({"cluster": {"worker": ["t0:1", "t1:1"], "ps": ["d:5050"],
                    "data": ["w0:2", "w1:2"]},
        "task": {"type": "data", "index": 1}})";

TEST_F(Resolvers, RolesRenameJobsOfAnyCluster) {
  variables_["TF_CONFIG"] = kTfConfig;
  EXPECT_EQ(Shown("tf_config:?roles=dispatcher=ps,worker=data"),
            "ClusterSpec({'dispatcher': ['d:5050'], 'other_worker': ['t0:1', "
            "'t1:1'], 'worker': ['w0:2', 'w1:2']}) worker/1 ");
  EXPECT_EQ(Shown("tf_config:?job=worker&task=0&roles=dispatcher%3Dps,worker="),
            "ClusterSpec({'data': ['w0:2', 'w1:2'], 'dispatcher': ['d:5050'], "
            "'other_worker': ['t0:1', 't1:1']}) other_worker/0 ");
  files_["c"] = "{ps: ['d:1'], worker: ['w:2']}";
  EXPECT_EQ(Shown("file:c?roles=dispatcher=ps"),
            "ClusterSpec({'dispatcher': ['d:1'], 'worker': ['w:2']}) -/- ");
  const auto resolver = Make("tf_config:?roles=dispatcher=ps,worker=data");
  EXPECT_EQ(resolver->Master({"worker", 0, std::nullopt}).value(), "w0:2");
}

TEST_F(Resolvers, BadRolesAreNamed) {
  EXPECT_THAT(Shown("env:?roles=trainer=ps"), HasSubstr("gives no job a role"));
  EXPECT_THAT(Shown("env:?roles=worker"), HasSubstr("worker=JOB"));
  EXPECT_THAT(Shown("env:?roles=worker=a,worker=b"), HasSubstr("given twice"));
  EXPECT_THAT(Shown("env:?roles=worker=a,local=a"),
              HasSubstr("'a' is given two roles: worker and local"));
}

TEST_F(Resolvers, SlurmAndSageMakerTakeTheirParameters) {
  variables_ = {{"SLURM_JOB_NODELIST", "n[1-2]"},
                {"SLURM_TASKS_PER_NODE", "2(x2)"},
                {"SLURM_PROCID", "3"},
                {"SM_HOSTS", R"(["h2", "h1"])"},
                {"SM_CURRENT_HOST", "h2"}};
  EXPECT_EQ(Shown("slurm:?port=5050&jobs=dispatcher:1,worker:3"),
            "ClusterSpec({'dispatcher': ['n1:5050'], 'worker': ['n1:5051', "
            "'n2:5050', 'n2:5051']}) worker/2 ");
  variables_["SLURM_PROCID"] = "1";
  EXPECT_EQ(Shown("slurm:?jobs=a:2&tasks_per_node=1&task=7"),
            "ClusterSpec({'a': ['n1:8888', 'n2:8888']}) a/7 ");
  EXPECT_EQ(Shown("sagemaker:?port=1&jobs=dispatcher:1,worker"),
            "ClusterSpec({'dispatcher': ['h1:1'], 'worker': ['h2:1']}) "
            "worker/0 ");
}

TEST_F(Resolvers, EmptyVariablesOfSageMakerNameNoHosts) {
  variables_ = {{"SM_HOSTS", R"(["h2", "h1"])"}, {"SM_CURRENT_HOST", ""}};
  EXPECT_THAT(Shown("sagemaker:"),
              HasSubstr("ClusterSpec({'worker': ['h1:2223', 'h2:2223']})"));
  EXPECT_THAT(Shown("sagemaker:"), Not(HasSubstr("worker/")));
  variables_["SM_HOSTS"] = "";
  EXPECT_THAT(Shown("sagemaker:"), HasSubstr("ClusterSpec({})"));
  variables_["SM_HOSTS"] = R"(["h2", "h1"])";
  variables_["SM_CURRENT_HOST"] = "h3";
  EXPECT_THAT(Shown("sagemaker:"), HasSubstr("'h3'"));
}

TEST_F(Resolvers, APluginAddsAScheme) {
  ResolverRegistry registry = BuiltinResolvers();
  EXPECT_THAT(registry.Schemes(), ElementsAre("env", "file", "sagemaker",
                                              "slurm", "tf_config", "union"));
  const ResolverFactory factory = [](const ResolverUri& uri,
                                     const ResolverContext&)
      -> absl::StatusOr<std::unique_ptr<ClusterResolver>> {
    ClusterView view;
    view.environment = uri.path;
    return std::make_unique<SimpleResolver>(view);
  };
  ASSERT_TRUE(registry.Add("consul", factory).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(registry.Add("consul", factory)));
  EXPECT_TRUE(absl::IsInvalidArgument(registry.Add("no scheme", factory)));
  const auto made = registry.Make("consul:here", Context());
  EXPECT_EQ(*(*made)->EnvironmentName(), "here");
}

TEST(JobLayouts, TheRestMayStandAnywhereAndBeNothing) {
  ClusterView view;
  const auto layout = ParseJobLayout("worker,dispatcher:1");
  ASSERT_TRUE(CutIntoJobs(*layout, {"a:1", "b:1", "c:1"}, 2, &view).ok());
  EXPECT_EQ(view.spec.ToString(),
            "ClusterSpec({'dispatcher': ['c:1'], 'worker': ['a:1', 'b:1']})");
  EXPECT_EQ(view.task_type, "dispatcher");
  ASSERT_TRUE(CutIntoJobs(*layout, {"a:1"}, 0, &view).ok());
  EXPECT_EQ(view.spec.ToString(), "ClusterSpec({'dispatcher': ['a:1']})");
}

// A machine with four NVIDIA GPUs.
int64_t Gpus(std::map<std::string, std::string> variables) {
  const DeviceListing four{{"nvidia0", "nvidia1", "nvidia2", "nvidia3",
                            "nvidiactl", "nvidia-uvm", "null"},
                           {}};
  const auto counts =
      CountAccelerators(Environment(std::move(variables)), four);
  return counts.contains("GPU") ? counts.at("GPU") : 0;
}

TEST(Accelerators, VisibleDevicesAreCountedAsCudaDoes) {
  EXPECT_EQ(Gpus({}), 4);
  EXPECT_EQ(Gpus({{"CUDA_VISIBLE_DEVICES", ""}}), 0);
  EXPECT_EQ(Gpus({{"CUDA_VISIBLE_DEVICES", "-1"}}), 0);
  EXPECT_EQ(Gpus({{"CUDA_VISIBLE_DEVICES", "2,3"}}), 2);
  EXPECT_EQ(Gpus({{"CUDA_VISIBLE_DEVICES", "0,1,-1,2"}}), 2);
  EXPECT_EQ(Gpus({{"CUDA_VISIBLE_DEVICES", "0,9,1"}}), 1);
  EXPECT_EQ(Gpus({{"CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5"}}), 4);
  EXPECT_EQ(Gpus({{"CUDA_VISIBLE_DEVICES", "GPU-8932f937,GPU-11"}}), 2);
  EXPECT_EQ(Gpus({{"CUDA_VISIBLE_DEVICES", "all"}}), 0);
  EXPECT_EQ(Gpus({{"NVIDIA_VISIBLE_DEVICES", "all"}}), 4);
  EXPECT_EQ(Gpus({{"NVIDIA_VISIBLE_DEVICES", "none"}}), 0);
  EXPECT_EQ(Gpus({{"NVIDIA_VISIBLE_DEVICES", ""}}), 0);
  EXPECT_EQ(Gpus({{"NVIDIA_VISIBLE_DEVICES", "6,7"},
                  {"CUDA_VISIBLE_DEVICES", "0,2"}}),
            1);
}

TEST(Accelerators, OnlyDevicesThatAreThereCount) {
  const std::map<std::string, std::string> two = {
      {"CUDA_VISIBLE_DEVICES", "0,1"}};
  EXPECT_TRUE(CountAccelerators(Environment(two), DeviceListing()).empty());
  const DeviceListing pci{
      {},
      {{0x1002, 0x030200, "amdgpu"},    // in use
       {0x1002, 0x120000, "amdgpu"},    // an accelerator
       {0x1002, 0x030200, ""},          // no driver
       {0x1002, 0x040300, "amdgpu"},    // its sound device
       {0x10de, 0x030200, "nvidia"}}};  // appears in /dev instead
  EXPECT_EQ(CountAccelerators(Environment(), pci),
            (AcceleratorCounts{{"GPU", 2}}));
  const DeviceListing google{
      {},
      {{0x1ae0, 0x120000, "", 0x0063},     // a TPU
       {0x1ae0, 0x120000, "", 0x0063},     // another TPU
       {0x1ae0, 0x020000, "gve", 0x0042},  // its network interface
       {0x1002, 0x020000, "", 0x0063}}};   // of another vendor
  EXPECT_EQ(CountAccelerators(Environment(), google),
            (AcceleratorCounts{{"TPU", 2}}));
}

TEST(HostContext, ReadsFilesAndDevices) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "feedmill_host";
  fs::remove_all(root);
  fs::create_directories(root / "dev");
  fs::create_directories(root / "pci/0000:01");
  std::ofstream(root / "dev/nvidia0") << "x";
  std::ofstream(root / "pci/0000:01/vendor") << "0x1002\n";
  std::ofstream(root / "pci/0000:01/class") << "0x030200\n";
  fs::create_symlink("/drivers/amdgpu", root / "pci/0000:01/driver");
  const auto listing = ProbeDevices(root / "dev", root / "pci");
  EXPECT_EQ(CountAccelerators(Environment(), *listing),
            (AcceleratorCounts{{"GPU", 2}}));
  EXPECT_TRUE(ProbeDevices(root / "no", root / "no")->pci.empty());

  const ResolverContext host = HostContext();
  EXPECT_EQ(*host.read_file(root / "pci/0000:01/vendor"), "0x1002\n");
  EXPECT_TRUE(absl::IsNotFound(host.read_file(root / "none").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(host.read_file(root).status()));
  EXPECT_TRUE(host.environment.Get("PATH").has_value());
  EXPECT_FALSE(host.environment.Get("FEEDMILL_NO_SUCH_VARIABLE").has_value());
  fs::remove_all(root);
}

}  // namespace
}  // namespace feedmill
