// tensorflow/python/distribute/cluster_resolver/cluster_resolver_test.py, each
// test under its own name. Then the faults of the originals, each shown absent.

#include "core/cluster/given_resolvers.h"
#include "core/cluster/union_resolver.h"
#include "tests/conformance/cluster/resolver_fixture.h"
#include "tests/conformance/cluster/simple_resolver.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

ClusterSpec PsAndWorkers() {
  return Cluster(
      {{"ps", List{"ps0:2222", "ps1:2222"}},
       {"worker", List{"worker0:2222", "worker1:2222", "worker2:2222"}}});
}

std::shared_ptr<const ClusterResolver> Simple(ClusterView view) {
  return std::make_shared<SimpleResolver>(std::move(view));
}
std::shared_ptr<const ClusterResolver> Simple(ClusterSpec spec) {
  return Simple(ClusterView{std::move(spec), {}, {}, "", "", {}});
}

std::unique_ptr<UnionResolver> UnionOf(UnionResolver::Parts parts,
                                       ResolverOverrides overrides = {}) {
  auto made = UnionResolver::Create(std::move(parts), std::move(overrides));
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// This machine is worker 1 of eleven.
TfConfigResolver WorkerOneOfEleven(int gpus) {
  std::string workers;
  for (int k = 0; k < 11; ++k) {
    workers += fmt::format("{}\"h{}:1\"", k ? "," : "", k);
  }
  return TfConfigResolver(Machine(
      {{"TF_CONFIG", R"({"task": {"type": "worker", "index": 1}, "cluster": )"
                     R"({"worker": [)" +
                         workers + "]}}"}},
      gpus));
}

TEST(BaseClusterResolver, testNumAcceleratorsSuccess) {
  const SimpleResolver resolver({}, {{"GPU", 1}});
  EXPECT_EQ(*resolver.NumAccelerators(), (AcceleratorCounts{{"GPU", 1}}));
}

TEST(BaseClusterResolver, testNumAcceleratorsMultiDeviceSuccess) {
  EXPECT_EQ(*WorkerOneOfEleven(4).NumAccelerators(),
            (AcceleratorCounts{{"GPU", 4}}));
}

TEST(BaseClusterResolver, testNumAcceleratorsFilterTasks) {
  const TfConfigResolver resolver = WorkerOneOfEleven(2);
  EXPECT_EQ(*resolver.NumAccelerators(Task("worker", 1)),
            (AcceleratorCounts{{"GPU", 2}}));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      resolver.NumAccelerators(Task("ps", 1)).status()));
}

TEST(UnionClusterResolver, testSingleClusterResolver) {
  EXPECT_EQ(SpecOf(*UnionOf({Simple(PsAndWorkers())})), PsAndWorkers());
}

TEST(SimpleClusterResolver, testInitSimpleClusterResolver) {
  const SimpleResolver resolver({PsAndWorkers(), "ps", 1, "grpc", "cloud", {}},
                                {{"GPU", 8}});
  EXPECT_EQ(SpecOf(resolver), PsAndWorkers());
  EXPECT_EQ(OwnTask(resolver), "ps/1");
  EXPECT_EQ(*resolver.EnvironmentName(), "cloud");
  EXPECT_EQ(*resolver.RpcLayer(), "grpc");
  EXPECT_EQ(*resolver.NumAccelerators(), (AcceleratorCounts{{"GPU", 8}}));
  EXPECT_EQ(MasterOf(resolver, Task("worker", 0)), "grpc://worker0:2222");
  EXPECT_EQ(MasterOf(resolver, {"worker", 0, "http"}), "http://worker0:2222");
}

TEST(SimpleClusterResolver, testOverrideSimpleClusterResolver) {
  ClusterView view{PsAndWorkers(), "ps", 1, "grpc", "cloud", {}};
  ApplyOverrides({"worker", 2, "http", {}}, &view);
  const SimpleResolver resolver(view);
  EXPECT_EQ(OwnTask(resolver), "worker/2");
  EXPECT_EQ(*resolver.RpcLayer(), "http");
}

TEST(SimpleClusterResolver, testSimpleOverrideMasterWithTaskIndexZero) {
  EXPECT_EQ(MasterOf(*Simple(PsAndWorkers()), Task("worker", 0)),
            "worker0:2222");
}

TEST(SimpleClusterResolver, testSimpleOverrideMasterWithRpcLayer) {
  const auto resolver = Simple({PsAndWorkers(), {}, {}, "", "", "host:8080"});
  EXPECT_EQ(MasterOf(*resolver, {{}, {}, "grpc"}), "grpc://host:8080");
  EXPECT_EQ(MasterOf(*resolver, {"worker", 2, "grpc"}), "grpc://worker2:2222");
}

TEST(SimpleClusterResolver, testSimpleOverrideMaster) {
  const auto resolver = Simple({PsAndWorkers(), {}, {}, "", "", "host:8080"});
  EXPECT_EQ(MasterOf(*resolver), "host:8080");
  EXPECT_EQ(MasterOf(*resolver, Task("worker", 2)), "worker2:2222");
}

TEST(UnionClusterResolver, testUnionClusterResolverGetProperties) {
  const ClusterSpec other = Cluster({{"ps", List{"b0:1", "b1:1"}}});
  const auto first = std::make_shared<SimpleResolver>(
      ClusterView{PsAndWorkers(), "ps", 1, "grpc", "cloud", {}},
      AcceleratorCounts{{"GPU", 8}});
  const auto second = Simple({other, "worker", 2, "http", "google", {}});
  const auto both = UnionOf({first, second});
  EXPECT_EQ(OwnTask(*both), "ps/1");
  EXPECT_EQ(*both->EnvironmentName(), "cloud");
  EXPECT_EQ(*both->RpcLayer(), "grpc");
  EXPECT_EQ(*both->NumAccelerators(), (AcceleratorCounts{{"GPU", 8}}));
  const auto overridden = UnionOf({first, second}, {"worker", 2, "http", {}});
  EXPECT_EQ(OwnTask(*overridden), "worker/2");
  EXPECT_EQ(*overridden->RpcLayer(), "http");
}

TEST(UnionClusterResolver, testTwoNonOverlappingJobMergedClusterResolver) {
  const auto both =
      UnionOf({Simple(Cluster({{"ps", List{"ps0:2222", "ps1:2222"}}})),
               Simple(Cluster({{"worker", List{"worker0:2222", "worker1:2222",
                                               "worker2:2222"}}}))});
  EXPECT_EQ(SpecOf(*both), PsAndWorkers());
}

TEST(UnionClusterResolver, testMergedClusterResolverMaster) {
  const auto both =
      UnionOf({Simple(Cluster({{"ps", List{"ps0:1"}}})),
               Simple(Cluster({{"worker", List{"worker0:1", "worker1:1"}}}))});
  EXPECT_EQ(MasterOf(*both), "");
  EXPECT_EQ(MasterOf(*both, Task("worker", 1)), "worker1:1");
}

TEST(UnionClusterResolver, testOverlappingJobMergedClusterResolver) {
  const auto both =
      UnionOf({Simple(Cluster({{"worker", List{"a4:1", "a5:1"}}})),
               Simple(Cluster({{"worker", List{"b0:1", "b1:1", "b2:1"}}}))});
  EXPECT_EQ(
      SpecOf(*both),
      Cluster({{"worker", List{"a4:1", "a5:1", "b0:1", "b1:1", "b2:1"}}}));
}

TEST(UnionClusterResolver,
     testOverlappingSparseJobMergedClusterResolverThrowError) {
  const auto both = UnionOf(
      {Simple(Cluster({{"worker", JobTasks{{7, "a:1"}, {9, "b:1"}}}})),
       Simple(Cluster({{"worker", JobTasks{{3, "c:1"}, {7, "d:1"}}}}))});
  ExpectRefused(both->Spec().status(), {"task 7", "'worker'", "a:1", "d:1"});
}

TEST(UnionClusterResolver, testOverlappingDictAndListThrowError) {
  const auto both = UnionOf(
      {Simple(Cluster({{"worker", List{"a:1", "b:1"}}})),
       Simple(Cluster({{"worker", JobTasks{{1, "c:1"}, {3, "d:1"}}}}))});
  ExpectRefused(both->Spec().status(), {"task 1", "'worker'"});
}

TEST(UnionClusterResolver, testOverlappingJobNonOverlappingKey) {
  const auto both =
      UnionOf({Simple(Cluster({{"worker", JobTasks{{5, "a:1"}, {9, "b:1"}}}})),
               Simple(Cluster({{"worker", JobTasks{{3, "c:1"}}}}))});
  EXPECT_EQ(
      SpecOf(*both),
      Cluster({{"worker", JobTasks{{3, "c:1"}, {5, "a:1"}, {9, "b:1"}}}}));
}

TEST(UnionClusterResolver, testMixedModeNonOverlappingKey) {
  const auto both =
      UnionOf({Simple(Cluster({{"worker", List{"a:1", "b:1"}}})),
               Simple(Cluster({{"worker", JobTasks{{3, "c:1"}}}}))});
  EXPECT_EQ(
      SpecOf(*both),
      Cluster({{"worker", JobTasks{{0, "a:1"}, {1, "b:1"}, {3, "c:1"}}}}));
}

TEST(UnionClusterResolver, testRetainSparseJobWithNoMerging) {
  const ClusterSpec sparse = Cluster({{"worker", JobTasks{{7, "a:1"}}}});
  EXPECT_EQ(SpecOf(*UnionOf({Simple(sparse)})), sparse);
}

// ---- faults of the originals ----

TEST(FaultsOfTheOriginals, OverridesOfZeroAndNothingCount) {
  const auto first = Simple({PsAndWorkers(), "ps", 1, "grpc", "cloud", {}});
  const auto zero = UnionOf({first}, {{}, 0, {}, {}});
  EXPECT_EQ(OwnTask(*zero), "ps/0");
  const auto nothing = UnionOf({first}, {"", {}, "", ""});
  EXPECT_EQ(OwnTask(*nothing), "/1");
  EXPECT_EQ(*nothing->RpcLayer(), "");
  EXPECT_EQ(*nothing->EnvironmentName(), "");
  EXPECT_EQ(MasterOf(*nothing, Task("worker", 0)), "worker0:2222");
  EXPECT_EQ(MasterOf(*first, {"worker", 0, ""}), "worker0:2222");
}

TEST(FaultsOfTheOriginals, AUnionsLayerIsAppliedToEveryMaster) {
  const auto first = Simple({PsAndWorkers(), {}, {}, "grpc", "", "host:1"});
  EXPECT_EQ(MasterOf(*UnionOf({first}, {{}, {}, "http", {}})), "http://host:1");
  EXPECT_EQ(MasterOf(*UnionOf({first}), Task("ps", 0)), "grpc://ps0:2222");
}

TEST(FaultsOfTheOriginals, ALayerWithoutAnAddressIsNoUrl) {
  EXPECT_EQ(MasterOf(*Simple({PsAndWorkers(), {}, {}, "grpc", "", {}})), "");
}

TEST(FaultsOfTheOriginals, TaskOneIsNotTaskTen) {
  EXPECT_TRUE(absl::IsFailedPrecondition(
      WorkerOneOfEleven(2).NumAccelerators(Task("worker", 10)).status()));
}

TEST(FaultsOfTheOriginals, AnEmptyPartMakesAJobNotSparse) {
  const auto both = UnionOf({Simple(Cluster({{"worker", List{}}})),
                             Simple(Cluster({{"worker", List{"a:1"}}})),
                             Simple(Cluster({{"worker", List{"b:1"}}}))});
  EXPECT_EQ(SpecOf(*both), Cluster({{"worker", List{"a:1", "b:1"}}}));
}

TEST(FaultsOfTheOriginals, AUnionOfNothingOrNullIsRefused) {
  ExpectRefused(UnionResolver::Create({}).status(), {"at least one"});
  ExpectRefused(UnionResolver::Create({nullptr}).status(), {"null"});
}

TEST(FaultsOfTheOriginals, UnknownTasksAndHalfTasksAreErrorsThatSaySo) {
  const auto resolver = UnionOf({Simple(PsAndWorkers())});
  EXPECT_THAT(MasterOf(*resolver, Task("evaluator", 0)),
              HasSubstr("no job 'evaluator'"));
  EXPECT_THAT(MasterOf(*resolver, Task("ps", 9)), HasSubstr("no task 9"));
}

}  // namespace
}  // namespace feedmill
