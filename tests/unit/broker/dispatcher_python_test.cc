// Jobs with Python functions, and workers that cannot run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/dispatcher.h"
#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

void Resolve(Miller& worker) {
  ASSERT_THAT(worker.answer->manifests, SizeIs(1));
  worker.says.manifests = {
      {worker.answer->manifests[0].graph_fingerprint, absl::OkStatus(), ""}};
  worker.Beat();
}

TEST(PythonWorkers, OnlyFitOnesAreAskedAndGetLeases) {
  Cluster cluster;
  Miller& without = cluster.AddWorker("w1");
  Miller& other = cluster.AddPythonWorker("w2", "1.26.4");
  Miller& fit = cluster.AddPythonWorker("w3", "2.1.0");
  Reader& reader = cluster.AddReader("j", "solo", "range 500 python").Hello();
  EXPECT_THAT(without.answer->manifests, IsEmpty());
  EXPECT_THAT(other.answer->manifests, IsEmpty());
  Resolve(fit);
  ASSERT_TRUE(reader.live());
  EXPECT_THAT(without.leases(), IsEmpty());
  EXPECT_THAT(other.leases(), IsEmpty());
  EXPECT_THAT(fit.leases(), Not(IsEmpty()));
  // One that comes later gets leases, too.
  Miller& late = cluster.AddPythonWorker("w4", "2.1.0");
  EXPECT_THAT(late.leases(), Not(IsEmpty()));
}

TEST(PythonWorkers, AnInterpreterIsAskedForUntilItIsKnown) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  worker.says.allows_python = true;
  worker.Beat();
  EXPECT_FALSE(worker.answer->python_known);
  Reader& reader = cluster.AddReader("j", "solo", "range 500 python").Hello();
  cluster.Pass(absl::Seconds(2), {&reader}, {&worker});
  EXPECT_FALSE(reader.reject);  // it may be fit
  worker.says.python = PythonInterpreter{"/p", "3.11.9", {"numpy==2.1.0"}};
  worker.Beat();
  EXPECT_TRUE(worker.answer->python_known);
  EXPECT_THAT(worker.answer->manifests, SizeIs(1));
}

TEST(PythonWorkers, IfNoneIsFitTheJobIsRefusedAndAllVersionsAreNamed) {
  Cluster cluster;
  Reader& reader = cluster.AddReader("j", "solo", "range 500 python").Hello();
  cluster.Pass(absl::Seconds(2), {&reader});
  EXPECT_FALSE(reader.reject);  // no worker has come
  Miller& without = cluster.AddWorker("w1");
  Miller& other = cluster.AddPythonWorker("w2", "1.26.4");
  EXPECT_FALSE(reader.reject);  // a fit one may join at the same time
  cluster.Pass(absl::Seconds(1), {&reader}, {&without, &other});
  ASSERT_TRUE(reader.reject);
  EXPECT_EQ(reader.reject->reason, RejectReason::kRefused);
  const std::string why = ErrorText(reader.reject->detail);
  EXPECT_EQ(reader.reject->detail.code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(why, HasSubstr("made with Python 3.11.2 and numpy 2.1.0"));
  EXPECT_THAT(why, HasSubstr("worker w1 allows no Python functions"));
  EXPECT_THAT(why, HasSubstr("worker w2 has numpy 1.26.4"));
  EXPECT_THAT(without.leases(), IsEmpty());
  EXPECT_THAT(other.leases(), IsEmpty());
}

TEST(PythonWorkers, AFitOneThatJoinsInTimeGetsTheJob) {
  Cluster cluster;
  Miller& other = cluster.AddPythonWorker("w1", "1.26.4");
  Reader& reader = cluster.AddReader("j", "solo", "range 500 python").Hello();
  cluster.Pass(absl::Milliseconds(300), {&reader}, {&other});
  Miller& fit = cluster.AddPythonWorker("w2", "2.1.0");
  cluster.Pass(absl::Seconds(1), {&reader}, {&other, &fit});
  EXPECT_FALSE(reader.reject);
  Resolve(fit);
  EXPECT_TRUE(reader.live());
}

TEST(PythonWorkers, OtherJobsContinueWhileOneWaitsForAFitWorker) {
  Cluster cluster;
  Miller& fit = cluster.AddPythonWorker("w1", "2.1.0");
  Reader& python = cluster.AddReader("a", "solo", "range 500 python").Hello();
  Resolve(fit);
  Miller& other = cluster.AddWorker("w2");
  cluster.Pass(absl::Seconds(3), {&python}, {&other});  // w1 is lost
  ASSERT_TRUE(python.live());
  EXPECT_EQ(python.answer->workers, 0u);
  EXPECT_THAT(cluster.dispatcher().WaitsFor(*cluster.job("a")),
              HasSubstr("a worker with Python 3.11.2 and numpy 2.1.0"));
  EXPECT_THAT(other.leases(), IsEmpty());
  Reader& plain = cluster.AddReader("b", "solo", "range 500").Hello();
  ASSERT_TRUE(plain.live());
  EXPECT_THAT(other.leases(), Not(IsEmpty()));
  for (const Lease& lease : other.leases()) {
    EXPECT_EQ(lease.plan, plain.answer->run->plan);
  }
  EXPECT_EQ(plain.answer->workers, 1u);
  Miller& back = cluster.AddPythonWorker("w3", "2.1.0");
  EXPECT_THAT(back.leases(), Not(IsEmpty()));
  python.Beat();
  EXPECT_EQ(python.answer->workers, 2u);
}

TEST(PythonWorkers, ADrainingOneKeepsWhatNoOtherCanRun) {
  Cluster cluster;
  Miller& fit = cluster.AddPythonWorker("w1", "2.1.0");
  Miller& other = cluster.AddWorker("w2");
  Reader& reader = cluster.AddReader("j", "solo", "range 40 python").Hello();
  Resolve(fit);
  const size_t had = fit.leases().size();
  EXPECT_GT(had, 0u);
  fit.says.draining = true;
  fit.Beat();
  EXPECT_THAT(fit.leases(), SizeIs(had));
  EXPECT_THAT(other.leases(), IsEmpty());
  Miller& next = cluster.AddPythonWorker("w3", "2.1.0");
  fit.Beat();
  EXPECT_THAT(fit.leases(), IsEmpty());
  EXPECT_TRUE(fit.answer->drained);
  EXPECT_THAT(next.leases(), Not(IsEmpty()));
  EXPECT_FALSE(reader.reject);
}

TEST(PythonWorkers, AfterARestartTheyAreAskedAgainBeforeAJobIsRefused) {
  Cluster cluster;
  Miller& fit = cluster.AddPythonWorker("w1", "2.1.0");
  Reader& reader = cluster.AddReader("j", "solo", "range 500 python").Hello();
  cluster.Restart();
  const auto python = std::exchange(fit.says.python, std::nullopt);
  fit.Beat();
  EXPECT_FALSE(fit.answer->python_known);
  cluster.Pass(absl::Seconds(2), {&reader}, {&fit});
  EXPECT_FALSE(reader.reject);
  fit.says.python = python;
  fit.Beat();
  EXPECT_TRUE(fit.answer->python_known);
  EXPECT_THAT(fit.answer->manifests, SizeIs(1));
}

}  // namespace
}  // namespace feedmill::testing
