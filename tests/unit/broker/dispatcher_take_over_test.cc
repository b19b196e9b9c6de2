// Ranks that are started again with take-over: which ranks wait, which are
// replaced, and the messages to replaced ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/broker/rank_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TakingOver, NeverEjectsAnotherRank) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& behind = AddRank(cluster, 1, 2).Hello();
  Finish(AddRank(cluster, 0, 2).Hello());
  for (const bool token : {false, true}) {
    Reader& again = AddRank(cluster, 0, 2);
    if (token) WithToken(again, 2, {10, 0});
    again.hello().take_over = true;
    again.Hello();
    EXPECT_FALSE(again.live());
    EXPECT_EQ(again.answer->awaited, 1);
    EXPECT_EQ(again.answer->awaited_ranks, (std::vector<uint64_t>{1}));
    behind.Beat();
    EXPECT_FALSE(behind.reject.has_value());
  }
  EXPECT_EQ(cluster.job("j")->run, RunNumber(1));
}

// An emptied store knows only the readers that have arrived so far.
TEST(TakingOver, NeverEjectsOneThatCameFirstToAnEmptiedStore) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& behind = AddRank(cluster, 1, 3);
  ASSERT_TRUE(WithToken(behind, 1, {30, 0}).Hello().live());
  Reader& ahead = WithToken(AddRank(cluster, 0, 3), 2, {10, 0});
  ahead.hello().take_over = true;
  ahead.Hello();
  EXPECT_FALSE(ahead.live());
  EXPECT_EQ(ahead.answer->awaited_ranks, (std::vector<uint64_t>{1}));
  Finish(behind);
  ASSERT_TRUE(ahead.Hello().live());
  EXPECT_EQ(ahead.answer->run->iteration, 1);
}

TEST(TakingOver, ReplacesTheRanksOwnFormerLifeAtOnce) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& former = AddRank(cluster, 0, 2).Hello();
  Reader& other = AddRank(cluster, 1, 2).Hello();
  Reader& later = AddRank(cluster, 0, 2);
  later.hello().take_over = true;
  ASSERT_TRUE(later.Hello().live());
  EXPECT_EQ(later.answer->run->iteration, 0);
  former.Beat();
  ASSERT_TRUE(former.reject.has_value());
  EXPECT_EQ(former.reject->reason, RejectReason::kSuperseded);
  EXPECT_THAT(ErrorText(former.reject->detail), HasSubstr("as \"0/2\""));
  other.Beat();
  EXPECT_FALSE(other.reject.has_value());
}

// The numbers of lives are of the readers' clocks.
TEST(ClocksBehind, ARejectHasTheLaterLifeAndTheTimeSinceItWasMet) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& first = cluster.AddReader("j", "solo", "range 100");
  first.hello().session.incarnation = Incarnation(1'000);
  ASSERT_TRUE(first.Hello().live());
  cluster.Pass(absl::Seconds(5), {&first});
  Reader& behind = cluster.AddReader("j", "solo", "range 100");
  behind.hello().take_over = true;
  behind.Hello();
  ASSERT_TRUE(behind.reject.has_value());
  EXPECT_EQ(behind.reject->reason, RejectReason::kSuperseded);
  ASSERT_TRUE(behind.reject->later.has_value());
  EXPECT_EQ(behind.reject->later->life, Incarnation(1'000));
  EXPECT_EQ(behind.reject->later->met, absl::Seconds(5));
  first.Leave();
  cluster.Pass(absl::Seconds(1));
  behind.reject.reset();
  behind.Hello();
  ASSERT_TRUE(behind.reject.has_value());
  EXPECT_EQ(behind.reject->later->met, absl::Seconds(6));
  // A restarted dispatcher has met it before its start.
  cluster.Restart();
  cluster.Wait(absl::Seconds(2));
  behind.reject.reset();
  behind.Hello();
  ASSERT_TRUE(behind.reject.has_value());
  EXPECT_EQ(behind.reject->later->met, absl::Seconds(2));
  behind.hello().session.incarnation = Incarnation(1'001);
  behind.reject.reset();
  EXPECT_TRUE(behind.Hello().live());
  EXPECT_FALSE(behind.reject.has_value());
}

TEST(ClocksBehind, ARejectOfAnotherNumberOfRanksHasTheLatestLifeOfAll) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  for (uint64_t rank = 0; rank < 2; ++rank) {
    Reader& reader = AddRank(cluster, rank, 2);
    reader.hello().session.incarnation = Incarnation(1'000 + rank);
    ASSERT_TRUE(reader.Hello().live());
  }
  cluster.Wait(absl::Seconds(3));
  Reader& fresh = AddRank(cluster, 0, 3);
  fresh.hello().take_over = true;
  fresh.Hello();
  ASSERT_TRUE(fresh.reject.has_value());
  ASSERT_TRUE(fresh.reject->later.has_value());
  EXPECT_EQ(fresh.reject->later->life, Incarnation(1'001));
  EXPECT_EQ(fresh.reject->later->met, absl::Seconds(3));
  fresh.hello().session.incarnation = Incarnation(1'002);
  EXPECT_TRUE(fresh.Hello().live());
}

TEST(TakingOver, AnotherNumberOfRanksIsNamedInTheReject) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& old = AddRank(cluster, 1, 3).Hello();
  Reader& fresh = AddRank(cluster, 0, 2);
  fresh.hello().take_over = true;
  ASSERT_TRUE(fresh.Hello().live());
  old.Beat();
  ASSERT_TRUE(old.reject.has_value());
  EXPECT_EQ(old.reject->reason, RejectReason::kSuperseded);
  EXPECT_THAT(ErrorText(old.reject->detail),
              HasSubstr("read by 2 consumers by now: '0/2' took it over; this "
                        "one, '1/3' of 3, stops"));
  cluster.Restart();
  old.Beat();
  EXPECT_THAT(ErrorText(old.reject->detail), HasSubstr("others than \"1/3\""));
}

// All ranks are beyond the store's knowledge, and each reports it.
TEST(TakingOver, RanksThatAreAllBeyondTheRunContinue) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  for (uint64_t rank = 0; rank < 3; ++rank) {  // former incarnations
    WithToken(AddRank(cluster, rank, 3), 1, {30, 0}).Hello();
  }
  std::vector<Reader*> ranks;
  for (uint64_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(&WithToken(AddRank(cluster, rank, 3), 2, {10, 0}));
    ranks.back()->Hello();
  }
  for (Reader* reader : ranks) {
    reader->Hello();
    ASSERT_TRUE(reader->live());
    EXPECT_EQ(reader->answer->run->iteration, 1);
  }
}

// A late copy of an earlier incarnation's message.
TEST(TakingOver, TheLatestLifeSaysWhichRunARankReads) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& first = WithToken(AddRank(cluster, 0, 3), 1, {30, 0}).Hello();
  Reader& old = WithToken(AddRank(cluster, 1, 3), 3, {10, 0});
  Reader& later = WithToken(AddRank(cluster, 1, 3), 2, {10, 0});
  Reader& ahead = WithToken(AddRank(cluster, 2, 3), 3, {10, 0});
  later.Hello();
  old.Hello();
  ahead.Hello();
  Finish(first);
  WithToken(AddRank(cluster, 0, 3), 3, {10, 0}).Hello();
  ahead.Hello();
  EXPECT_FALSE(ahead.live());
  ASSERT_TRUE(later.Hello().live());
  EXPECT_EQ(later.answer->run->iteration, 1);
}

TEST(TakingOver, DoesNotWaitForThoseThatHaveBeenSilentForLong) {
  Cluster cluster(QuickTimeout());
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& dead = AddRank(cluster, 1, 2).Hello();
  Finish(AddRank(cluster, 0, 2).Hello());
  Reader& waits = AddRank(cluster, 0, 2);
  Reader& takes = AddRank(cluster, 0, 2);
  takes.hello().take_over = true;
  cluster.Pass(absl::Seconds(9), {}, {&worker});
  EXPECT_FALSE(takes.Hello().live());
  cluster.Pass(absl::Seconds(2), {}, {&worker});
  waits.Hello();
  EXPECT_EQ(waits.answer->awaited_ranks, (std::vector<uint64_t>{1}));
  // A dispatcher that has just started may not have heard of it yet.
  cluster.Restart();
  worker.Beat();
  EXPECT_FALSE(takes.Hello().live());
  cluster.Pass(absl::Seconds(11), {}, {&worker});
  ASSERT_TRUE(takes.Hello().live());
  EXPECT_EQ(takes.answer->run->iteration, 1);
  dead.Beat();
  ASSERT_TRUE(dead.reject.has_value());
  EXPECT_EQ(dead.reject->reason, RejectReason::kSuperseded);
  EXPECT_THAT(ErrorText(dead.reject->detail),
              AllOf(HasSubstr("iteration 1 by now"), HasSubstr("'1/2'"),
                    HasSubstr("start it again")));
}

TEST(TakingOver, ALeftBehindRankReadsItsOwnIterationAfterARestart) {
  for (const bool token : {false, true}) {
    Cluster cluster(QuickTimeout());
    Miller& worker = cluster.AddWorker("w1", 8);
    AddRank(cluster, 1, 2).Hello();
    Finish(AddRank(cluster, 0, 2).Hello());
    Reader& ahead = AddRank(cluster, 0, 2);
    ahead.hello().take_over = true;
    cluster.Pass(absl::Seconds(12), {}, {&worker});
    ASSERT_TRUE(ahead.Hello().live());
    Reader& again = AddRank(cluster, 1, 2);
    if (token) WithToken(again, 1, {40, 0});
    ASSERT_TRUE(again.Hello().live());
    EXPECT_EQ(again.answer->run->iteration, 0);
    EXPECT_EQ(again.split(0).begin.p, token ? 40 : 0);
    // The other rank waits, and continues at its position.
    ahead.Beat();
    EXPECT_EQ(ahead.reject->reason, RejectReason::kUnknown);
    WithToken(ahead, 2, {20, 0}).Forget();
    ahead.Hello();
    EXPECT_EQ(ahead.answer->awaited_ranks, (std::vector<uint64_t>{1}));
    Finish(again);
    ASSERT_TRUE(ahead.Hello().live());
    EXPECT_EQ(ahead.split(0).begin, (Cursor{20, 0}));
  }
}

// A rank has no session while another one reads an earlier iteration.
TEST(TakingOver, AWaitingRankIsNotSilent) {
  Cluster cluster(QuickTimeout());
  Miller& worker = cluster.AddWorker("w1", 8);
  std::vector<Reader*> ranks;
  for (int pass = 0; pass < 2; ++pass) {
    ranks.clear();
    for (uint64_t rank = 0; rank < 3; ++rank) {
      ranks.push_back(&AddRank(cluster, rank, 3).Hello());
    }
    for (Reader* reader : ranks) Finish(*reader);
  }
  Reader& first = WithToken(AddRank(cluster, 0, 3), 1, {40, 0}).Hello();
  Reader& second = WithToken(AddRank(cluster, 1, 3), 2, {40, 0}).Hello();
  Reader& third = WithToken(AddRank(cluster, 2, 3), 3, {0, 0});
  third.hello().take_over = true;
  for (int k = 0; k < 13; ++k) {
    cluster.Pass(absl::Seconds(1), {&first}, {&worker});
    second.Hello();
    third.Hello();
    EXPECT_EQ(third.answer->awaited_ranks, (std::vector<uint64_t>{0, 1}));
  }
  Finish(first);
  ASSERT_TRUE(second.Hello().live());
  third.Hello();
  EXPECT_FALSE(third.live());
}

// ---- leaves that arrive after their session ended

void TakeAll(Reader& reader) {
  while (!reader.splits().empty()) reader.FinishAll().Beat();
}

TEST(LateLeaves, CountWhereTheJobWasTakenBackMeanwhile) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  Finish(AddRank(cluster, 0, 2).Hello());
  Finish(AddRank(cluster, 1, 2).Hello());
  Reader& first = AddRank(cluster, 0, 2).Hello();
  TakeAll(first);
  Reader& back = WithToken(AddRank(cluster, 1, 2), 1, {40, 0}).Hello();
  ASSERT_EQ(cluster.job("j")->iteration, 0);
  cluster.Restart();
  worker.Beat();
  first.Leave();
  Finish(back.Hello());
  Finish(AddRank(cluster, 1, 2).Hello());
  // The rank does not read iteration 1 again.
  Reader& next = AddRank(cluster, 0, 2).Hello();
  ASSERT_TRUE(next.live());
  EXPECT_EQ(next.answer->run->iteration, 2);
}

TEST(LateLeaves, CountWhereTheSessionWasReleased) {
  Cluster cluster(QuickTimeout());
  Miller& worker = cluster.AddWorker("w1");
  Reader& slow = cluster.AddReader("j", "solo", "range 10").Hello();
  slow.Take(slow.split(0)).Beat();
  cluster.Pass(absl::Seconds(12), {}, {&worker});
  ASSERT_TRUE(cluster.job("j")->sessions.empty());
  slow.Leave();
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
  // A late copy of its hello does not admit it either.
  slow.Hello();
  EXPECT_EQ(slow.reject->reason, RejectReason::kSuperseded);
  Reader& next = cluster.AddReader("j", "solo", "range 10").Hello();
  ASSERT_TRUE(next.live());
  EXPECT_EQ(next.answer->run->iteration, 1);
}

TEST(LateLeaves, HaveNoEffectAfterAnotherReaderTookOver) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "one", "range 100").Hello();
  Reader& two = cluster.AddReader("j", "two", "range 100");
  two.hello().take_over = true;
  two.Hello();
  one.Leave();
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kRunning);
  two.Beat();
  EXPECT_FALSE(two.reject.has_value());
}

// The reader has no session, but its heartbeats show that it is alive.
TEST(TakingOver, AReleasedRankWithHeartbeatsIsNotSilent) {
  Cluster cluster(QuickTimeout());
  Miller& worker = cluster.AddWorker("w1", 8);
  Reader& slow = AddRank(cluster, 1, 2).Hello();
  Finish(AddRank(cluster, 0, 2).Hello());
  Reader& ahead = AddRank(cluster, 0, 2);
  ahead.hello().take_over = true;
  cluster.Pass(absl::Seconds(12), {}, {&worker});
  slow.Beat();
  EXPECT_EQ(slow.reject->reason, RejectReason::kUnknown);
  EXPECT_FALSE(ahead.Hello().live());
  EXPECT_EQ(ahead.answer->awaited, 1);
}

}  // namespace
}  // namespace feedmill::testing
