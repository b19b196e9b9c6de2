// Several readers of one sequence, each with its share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::HasSubstr;

Reader& AddRank(Cluster& cluster, uint64_t rank, uint64_t ranks) {
  Reader& reader =
      cluster.AddReader("j", fmt::format("{}/{}", rank, ranks), "range 100");
  reader.hello().share = {rank, ranks};
  return reader;
}

// Reads on to the end and leaves.
void Finish(Reader& reader) {
  for (int turn = 0; turn < 1'000 && !reader.splits().empty(); ++turn) {
    reader.FinishAll().Beat();
  }
  EXPECT_TRUE(reader.splits().empty());
  reader.Leave();
}

TEST(Ranks, EachGetsTheWholeRunAndLeasesNameItsShare) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& first = AddRank(cluster, 0, 2).Hello();
  Reader& second = AddRank(cluster, 1, 2).Hello();
  ASSERT_TRUE(first.live() && second.live());
  EXPECT_EQ(first.split(0).begin, (Cursor{0, 0}));
  EXPECT_EQ(second.split(0).begin, (Cursor{0, 0}));
  EXPECT_NE(first.split(0).split, second.split(0).split);
  for (const Lease& lease : worker.leases()) {
    const uint64_t rank = lease.session.consumer == ConsumerId("1/2") ? 1 : 0;
    EXPECT_EQ(lease.share, (Share{rank, 2}));
  }
  // One that is done does not end the run for the other.
  Finish(first);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kRunning);
  Finish(second);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
}

TEST(Ranks, TheNextIterationBeginsWhenAllHaveFinishedThisOne) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& first = AddRank(cluster, 0, 2).Hello();
  Reader& second = AddRank(cluster, 1, 2).Hello();
  Finish(first);
  Reader& again = AddRank(cluster, 0, 2).Hello();
  ASSERT_TRUE(again.answer.has_value());
  EXPECT_FALSE(again.live());
  EXPECT_EQ(again.answer->awaited, 1);
  EXPECT_EQ(cluster.state().FindSession({JobName("j"), ConsumerId("0/2")}),
            nullptr);
  Finish(second);
  again.Hello();
  ASSERT_TRUE(again.live());
  EXPECT_EQ(again.answer->run->iteration, 1);
  Reader& other = AddRank(cluster, 1, 2).Hello();
  ASSERT_TRUE(other.live());
  EXPECT_EQ(other.answer->run->iteration, 1);
}

TEST(Ranks, OneThatIsToComeIsWaitedFor) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Finish(AddRank(cluster, 0, 2).Hello());
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kRunning);
  Reader& again = AddRank(cluster, 0, 2).Hello();
  EXPECT_EQ(again.answer->awaited, 1);
  // Unless it is told not to wait.
  again.hello().take_over = true;
  again.Hello();
  ASSERT_TRUE(again.live());
  EXPECT_EQ(again.answer->run->iteration, 1);
}

TEST(Ranks, AnotherNumberTakesOverWithATokenOnly) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& first = AddRank(cluster, 0, 2).Hello();
  Reader& second = AddRank(cluster, 1, 2).Hello();
  Reader& fresh = AddRank(cluster, 0, 3).Hello();
  ASSERT_TRUE(fresh.reject.has_value());
  EXPECT_THAT(ErrorText(fresh.reject->detail), HasSubstr("is being read"));
  for (uint64_t rank = 0; rank < 3; ++rank) {
    Reader& resumed = AddRank(cluster, rank, 3);
    resumed.hello().run = RunNumber(1);
    resumed.hello().cursor = {40, 0};
    resumed.Hello();
    ASSERT_TRUE(resumed.live()) << rank;
    EXPECT_EQ(resumed.split(0).begin, (Cursor{40, 0}));
  }
  EXPECT_EQ(cluster.job("j")->sessions.size(), 3);
  for (Reader* old : {&first, &second}) {
    old->Beat();
    ASSERT_TRUE(old->reject.has_value());
    EXPECT_EQ(old->reject->reason, RejectReason::kSuperseded);
    old->hello().run = RunNumber(1);
    old->Forget();
    old->Hello();
    ASSERT_TRUE(old->reject.has_value());
    EXPECT_EQ(old->reject->reason, RejectReason::kSuperseded);
  }
}

TEST(Ranks, ALifeOfOneReplacesOnlyItsOwn) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  AddRank(cluster, 0, 2).Hello();
  Reader& second = AddRank(cluster, 1, 2).Hello();
  Reader& twin = AddRank(cluster, 1, 2).Hello();
  ASSERT_TRUE(twin.reject.has_value());
  EXPECT_EQ(twin.reject->reason, RejectReason::kRefused);
  Reader& resumed = AddRank(cluster, 1, 2);
  resumed.hello().run = RunNumber(1);
  resumed.hello().cursor = {11, 0};
  resumed.Hello();
  ASSERT_TRUE(resumed.live());
  EXPECT_EQ(resumed.split(0).begin, (Cursor{11, 0}));
  second.Beat();
  EXPECT_EQ(second.reject->reason, RejectReason::kSuperseded);
  EXPECT_EQ(cluster.job("j")->sessions.size(), 2);
}

TEST(Ranks, NeedOrderDeterministicAndANumberBelowTheirs) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& shared = cluster.AddReader("j", "0/2", "range 100", Order::kAny);
  shared.hello().share = {0, 2};
  shared.Hello();
  EXPECT_THAT(ErrorText(shared.reject->detail), HasSubstr("deterministic"));
  Reader& beyond = AddRank(cluster, 2, 2).Hello();
  EXPECT_THAT(ErrorText(beyond.reject->detail), HasSubstr("no rank 2 of 2"));
}

TEST(Ranks, AnOlderIterationIsRefusedByItsNumber) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Finish(cluster.AddReader("j", "solo", "range 100").Hello());
  cluster.AddReader("j", "solo", "range 100").Hello();
  Reader& old = cluster.AddReader("j", "solo", "range 100");
  old.hello().run = RunNumber(1);
  old.Hello();
  ASSERT_TRUE(old.reject.has_value());
  EXPECT_EQ(old.reject->reason, RejectReason::kSuperseded);
  EXPECT_THAT(ErrorText(old.reject->detail), HasSubstr("iteration 1 by now"));
}

}  // namespace
}  // namespace feedmill::testing
