// slurm_cluster_resolver_test.py and sagemaker_cluster_resolver_test.py, each
// test under its own name. Then the faults of the originals, each shown absent.

#include "core/cluster/hostlist.h"
#include "core/cluster/sagemaker_resolver.h"
#include "core/cluster/slurm_resolver.h"
#include "tests/conformance/cluster/resolver_fixture.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the variables of a Slurm step with these values, plus `others`.
Variables Step(const std::string& nodes, const std::string& tasks_per_node,
               const std::string& tasks, const std::string& rank,
               const Variables& others = {}) {
  Variables all = {{"SLURM_STEP_NODELIST", nodes},
                   {"SLURM_STEP_TASKS_PER_NODE", tasks_per_node},
                   {"SLURM_STEP_NUM_TASKS", tasks},
                   {"SLURM_PROCID", rank}};
  for (const auto& [name, value] : others) all[name] = value;
  return all;
}

SlurmOptions PsAndWorkers(int64_t ps, int64_t workers) {
  SlurmOptions options;
  options.jobs = {{"ps", ps}, {"worker", workers}};
  return options;
}

TEST(SlurmClusterResolver, test_expand_hostlist) {
  EXPECT_THAT(*ExpandHostlist("n1"), ElementsAre("n1"));
  EXPECT_THAT(*ExpandHostlist("n[1,3-5]"), ElementsAre("n1", "n3", "n4", "n5"));
  EXPECT_THAT(
      *ExpandHostlist("n[1-2],m5,o[3-4,6,7-9]"),
      ElementsAre("n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"));
  EXPECT_THAT(
      *ExpandHostlist("n[0001-0003],m5,o[009-011]"),
      ElementsAre("n0001", "n0002", "n0003", "m5", "o009", "o010", "o011"));
}

TEST(SlurmClusterResolver, test_expand_tasks_per_node) {
  EXPECT_THAT(*ExpandTasksPerNode("2"), ElementsAre(2));
  EXPECT_THAT(*ExpandTasksPerNode("2,1,3"), ElementsAre(2, 1, 3));
  EXPECT_THAT(*ExpandTasksPerNode("3(x2),2,1"), ElementsAre(3, 3, 2, 1));
  EXPECT_THAT(*ExpandTasksPerNode("3(x2),2,11(x4)"),
              ElementsAre(3, 3, 2, 11, 11, 11, 11));
  EXPECT_THAT(*ExpandTasksPerNode("13(x10)"), ::testing::SizeIs(10));
}

TEST(SlurmClusterResolver, testSimpleRetrievalFromEnv) {
  SlurmOptions workers;
  workers.jobs = {{"worker", std::nullopt}};
  workers.overrides.rpc_layer = "grpc";
  const SlurmResolver resolver(
      Machine(Step("t02n13,t02n41,t02n43,t02n44", "1(x4)", "4", "3")), workers);
  EXPECT_EQ(SpecOf(resolver),
            Cluster({{"worker", List{"t02n13:8888", "t02n41:8888",
                                     "t02n43:8888", "t02n44:8888"}}}));
  EXPECT_EQ(OwnTask(resolver), "worker/3");
  EXPECT_EQ(MasterOf(resolver), "grpc://t02n44:8888");
  EXPECT_EQ(*resolver.RpcLayer(), "grpc");
}

TEST(SlurmClusterResolver, testSimpleSuccessfulRetrieval) {
  SlurmOptions options = PsAndWorkers(1, 3);
  options.tasks_per_node = 1;
  const SlurmResolver resolver(
      Machine({{"SLURM_PROCID", "0"},
               {"SLURM_STEP_NUM_TASKS", "4"},
               {"SLURM_STEP_NODELIST", "t02n13,t02n41,t02n43,t02n44"}}),
      options);
  EXPECT_EQ(
      SpecOf(resolver),
      Cluster({{"ps", List{"t02n13:8888"}},
               {"worker", List{"t02n41:8888", "t02n43:8888", "t02n44:8888"}}}));
}

TEST(SlurmClusterResolver, testSimpleMasterRetrieval) {
  SlurmOptions options = PsAndWorkers(1, 3);
  options.overrides.rpc_layer = "grpc";
  const SlurmResolver resolver(
      Machine(Step("t02n13,t02n41,t02n43,t02n44", "1(x4)", "4", "1")), options);
  EXPECT_EQ(MasterOf(resolver), "grpc://t02n41:8888");
  EXPECT_EQ(MasterOf(resolver, {"worker", 2, "ab"}), "ab://t02n44:8888");
}

TEST(SlurmClusterResolver, testTaskPerNodeNotSetRetrieval) {
  const SlurmResolver resolver(
      Machine(Step("t02n[13,41,43,44]", "1(x4)", "4", "0")),
      PsAndWorkers(1, 3));
  EXPECT_EQ(*SpecOf(resolver).TaskAddress("worker", 2), "t02n44:8888");
}

TEST(SlurmClusterResolver, testMultiTaskPerNodeRetrieval) {
  SlurmOptions options = PsAndWorkers(1, 4);
  options.gpus_per_node = 2;
  options.gpus_per_task = 1;
  const SlurmResolver resolver(
      Machine(Step("t02n13,t02n41,t02n43", "2(x2),1", "5", "3")), options);
  EXPECT_EQ(SpecOf(resolver),
            Cluster({{"ps", List{"t02n13:8888"}},
                     {"worker", List{"t02n13:8889", "t02n41:8888",
                                     "t02n41:8889", "t02n43:8888"}}}));
  EXPECT_THAT(*resolver.VisibleGpus(), ElementsAre(1));
}

TEST(SlurmClusterResolver, testMultipleGpusPerTaskRetrieval) {
  SlurmOptions options = PsAndWorkers(1, 4);
  options.gpus_per_node = 4;
  options.gpus_per_task = 2;
  const SlurmResolver resolver(
      Machine(Step("t02n13,t02n41,t02n43", "2(x2),1", "5", "3")), options);
  EXPECT_THAT(*resolver.VisibleGpus(), ElementsAre(2, 3));
  EXPECT_EQ(*resolver.NumAccelerators(), (AcceleratorCounts{{"GPU", 2}}));
}

// ---- faults of the originals ----

TEST(FaultsOfTheOriginals, ASlurmClusterMayHaveNoGpus) {
  const SlurmResolver found(Machine(Step("n[1-2]", "1(x2)", "2", "0")));
  EXPECT_TRUE(found.NumAccelerators()->empty());
  EXPECT_TRUE(found.VisibleGpus()->empty());
  SlurmOptions told;
  told.gpus_per_node = 0;
  const SlurmResolver none(Machine(Step("n1", "1", "1", "0"), 4), told);
  EXPECT_TRUE(none.NumAccelerators()->empty());
  // The original counted an empty CUDA_VISIBLE_DEVICES as one GPU.
  const SlurmResolver hidden(
      Machine(Step("n1", "1", "1", "0", {{"CUDA_VISIBLE_DEVICES", ""}}), 4));
  EXPECT_TRUE(hidden.NumAccelerators()->empty());
}

TEST(FaultsOfTheOriginals, SlurmHostsKeepSlurmsOrder) {
  const SlurmResolver resolver(Machine(
      Step("n2,n10,n1", "1(x3)", "3", "1", {{"SLURMD_NODENAME", "n10"}})));
  EXPECT_EQ(SpecOf(resolver),
            Cluster({{"dispatcher", List{"n2:8888"}},
                     {"worker", List{"n10:8888", "n1:8888"}}}));
  EXPECT_EQ(OwnTask(resolver), "worker/0");
}

TEST(FaultsOfTheOriginals, SlurmJobsKeepTheOrderWritten) {
  SlurmOptions options;
  options.jobs = {{"worker", 2}, {"chief", 1}};
  const SlurmResolver resolver(Machine(Step("n[1-3]", "1(x3)", "3", "2")),
                               options);
  EXPECT_EQ(*SpecOf(resolver).TaskAddress("worker", 0), "n1:8888");
  EXPECT_EQ(OwnTask(resolver), "chief/0");
}

TEST(FaultsOfTheOriginals, HostlistsHaveSuffixesAndSeveralGroups) {
  EXPECT_THAT(*ExpandHostlist("n[1-3]-ib"),
              ElementsAre("n1-ib", "n2-ib", "n3-ib"));
  EXPECT_THAT(*ExpandHostlist("r[1-2]c[0-1].x"),
              ElementsAre("r1c0.x", "r1c1.x", "r2c0.x", "r2c1.x"));
}

TEST(FaultsOfTheOriginals, BadHostlistsAreErrorsThatQuoteThem) {
  for (const char* bad :
       {"", ",", "n1,", "n[3-1]", "n[1-3", "n1]", "n[]", "n[1,]", "n[a-b]",
        "n[1-2-3]", "n 1", "n[[1]]", "n[1-99999999999999999999]",
        "n[0-999999999]", "n[0-999][0-999]", "n[-1]"}) {
    const auto hosts = ExpandHostlist(bad);
    ExpectRefused(hosts.status(), {"host list", bad});
  }
  for (const char* bad :
       {"", "2(x0)", "0", "2(x2", "2x2)", "(x2)", "2(y2)", "2,", "-1",
        "99999999999999999999", "9999(x9999)", "2(x)", "2(x2)3"}) {
    ExpectRefused(ExpandTasksPerNode(bad).status(), {"tasks per node", bad});
  }
}

TEST(FaultsOfTheOriginals, SlurmsMasterNeedsNoOtherCallFirst) {
  const SlurmResolver resolver(Machine(Step("n[1-2]", "1(x2)", "2", "1")));
  EXPECT_EQ(MasterOf(resolver), "n2:8888");
}

TEST(FaultsOfTheOriginals, OutsideAStepTheJobsVariablesAreTaken) {
  const SlurmResolver resolver(Machine({{"SLURM_JOB_NODELIST", "n[1-2]"},
                                        {"SLURM_NTASKS", "4"},
                                        {"SLURM_TASKS_PER_NODE", "2(x2)"}}));
  EXPECT_EQ(*SpecOf(resolver).NumTasks("worker"), 3u);
  EXPECT_EQ(OwnTask(resolver), "-/-");
}

TEST(FaultsOfTheOriginals, CyclicAndPlaneDistributionsAreFollowed) {
  const auto worker = [](Variables others) {
    return *SpecOf(
                SlurmResolver(Machine(Step("n[1-2]", "3,2", "5", "0", others))))
                .JobTaskList("worker");
  };
  EXPECT_THAT(worker({{"SLURM_DISTRIBUTION", "cyclic:block"}}),
              ElementsAre("n2:8888", "n1:8889", "n2:8889", "n1:8890"));
  EXPECT_THAT(
      worker({{"SLURM_DISTRIBUTION", "plane"}, {"SLURM_DIST_PLANESIZE", "2"}}),
      ElementsAre("n1:8889", "n2:8888", "n2:8889", "n1:8890"));
  EXPECT_THAT(worker({{"SLURM_DISTRIBUTION", "block"}}),
              ElementsAre("n1:8889", "n1:8890", "n2:8888", "n2:8889"));
}

TEST(FaultsOfTheOriginals, BadSlurmVariablesAreNamed) {
  const auto refused = [](Variables variables, std::vector<std::string> words) {
    ExpectRefused(SlurmResolver(Machine(std::move(variables))).Spec().status(),
                  words);
  };
  refused({}, {"SLURM_STEP_NODELIST", "not run inside a Slurm job"});
  refused({{"SLURM_JOB_NODELIST", "n1"}}, {"SLURM_STEP_TASKS_PER_NODE"});
  refused(Step("n[", "1", "1", "0"), {"SLURM_STEP_NODELIST"});
  refused(Step("n1", "x", "1", "0"), {"SLURM_STEP_TASKS_PER_NODE", "'x'"});
  refused(Step("n1", "1(x2)", "2", "0"), {"SLURM_STEP_TASKS_PER_NODE", "2"});
  refused(Step("n1", "2", "3", "0"), {"SLURM_STEP_NUM_TASKS", "3", "2"});
  refused(Step("n1", "2", "two", "0"), {"SLURM_STEP_NUM_TASKS", "two"});
  refused(Step("n1", "2", "2", "2"), {"SLURM_PROCID"});
  refused(Step("n1", "2", "2", "-1"), {"SLURM_PROCID", "-1"});
  refused(Step("n[1-2]", "1(x2)", "2", "0", {{"SLURMD_NODENAME", "n2"}}),
          {"SLURM_PROCID", "SLURMD_NODENAME", "n1", "n2"});
  refused(Step("n1", "1", "1", "0", {{"SLURM_DISTRIBUTION", "arbitrary"}}),
          {"SLURM_DISTRIBUTION", "arbitrary"});
}

TEST(FaultsOfTheOriginals, TooFewTasksGpusOrPortsAreRefused) {
  const auto context = Machine(Step("n1", "2", "2", "0"), 1);
  ExpectRefused(SlurmResolver(context, PsAndWorkers(1, 2)).Spec().status(),
                {"3 tasks", "only 2"});
  SlurmOptions options;
  options.gpus_per_task = 1;
  EXPECT_THAT(
      ErrorText(SlurmResolver(context, options).NumAccelerators().status()),
      HasSubstr("more than the 1 GPUs"));
  options.port_base = 65535;
  ExpectRefused(SlurmResolver(context, options).Spec().status(), {"port"});
}

// ---- SageMaker ----

SageMakerResolver SageMaker(const std::string& hosts, const std::string& own,
                            SageMakerOptions options = {}) {
  return SageMakerResolver(
      Machine({{"SM_HOSTS", hosts}, {"SM_CURRENT_HOST", own}}),
      std::move(options));
}

constexpr char kAlgos[] = R"(["algo-1","algo-2"])";

TEST(SageMakerClusterResolver, testNormalClusterSpecRead) {
  EXPECT_EQ(SpecOf(SageMaker(kAlgos, "algo-1")),
            Cluster({{"worker", List{"algo-1:2223", "algo-2:2223"}}}));
}

TEST(SageMakerClusterResolver, testAutomaticMasterRead) {
  EXPECT_EQ(MasterOf(SageMaker(kAlgos, "algo-1")), "algo-1:2223");
}

TEST(SageMakerClusterResolver, testSpecifiedTaskTypeAndIndexMasterRead) {
  EXPECT_EQ(MasterOf(SageMaker(kAlgos, "algo-2"), Task("worker", 1)),
            "algo-2:2223");
}

TEST(SageMakerClusterResolver, testRpcLayerRead) {
  SageMakerOptions options;
  options.overrides.rpc_layer = "grpc";
  EXPECT_EQ(MasterOf(SageMaker(kAlgos, "algo-1", options)),
            "grpc://algo-1:2223");
}

TEST(SageMakerClusterResolver, testParameterOverrides) {
  SageMakerOptions options;
  options.overrides = {"worker", 0, "http", {}};
  const auto resolver = SageMaker(kAlgos, "algo-2", options);
  EXPECT_EQ(OwnTask(resolver), "worker/0");
  EXPECT_EQ(MasterOf(resolver), "http://algo-1:2223");
  EXPECT_EQ(MasterOf(resolver, {"worker", 1, "grpc"}), "grpc://algo-2:2223");
}

TEST(SageMakerClusterResolver, testTaskIndexOverride) {
  SageMakerOptions options;
  options.overrides.task_id = 1;
  EXPECT_EQ(OwnTask(SageMaker(kAlgos, "algo-1", options)), "worker/1");
}

TEST(SageMakerClusterResolver, testZeroItemsInClusterSpecMasterRead) {
  const auto resolver = SageMaker("[]", "");
  EXPECT_FALSE(SpecOf(resolver));
  EXPECT_EQ(MasterOf(resolver), "");
}

TEST(SageMakerClusterResolver, testOneItemInClusterSpecMasterRead) {
  EXPECT_EQ(MasterOf(SageMaker(R"(["algo-1"])", "algo-1")), "");
}

TEST(FaultsOfTheOriginals, SageMakerHostsFollowTheirNumbers) {
  const auto resolver =
      SageMaker(R"(["algo-10","algo-9","algo-1"])", "algo-10");
  EXPECT_EQ(SpecOf(resolver),
            Cluster({{"worker",
                      List{"algo-1:2223", "algo-9:2223", "algo-10:2223"}}}));
  EXPECT_EQ(OwnTask(resolver), "worker/2");
}

TEST(FaultsOfTheOriginals, BadSageMakerVariablesAreNamed) {
  ExpectRefused(SageMakerResolver(Machine({})).Spec().status(), {"SM_HOSTS"});
  ExpectRefused(
      SageMakerResolver(Machine({{"SM_HOSTS", "[]"}})).Spec().status(),
      {"SM_CURRENT_HOST"});
  ExpectRefused(SageMaker("{", "a").Spec().status(), {"SM_HOSTS", "JSON"});
  ExpectRefused(SageMaker("{}", "a").Spec().status(), {"SM_HOSTS"});
  ExpectRefused(SageMaker("[1]", "a").Spec().status(), {"SM_HOSTS"});
  ExpectRefused(SageMaker(R"(["a b"])", "a b").Spec().status(), {"SM_HOSTS"});
  ExpectRefused(SageMaker(R"(["a","a"])", "a").Spec().status(), {"twice"});
  ExpectRefused(SageMaker(kAlgos, "other").Spec().status(),
                {"SM_CURRENT_HOST", "other"});
}

}  // namespace
}  // namespace feedmill
