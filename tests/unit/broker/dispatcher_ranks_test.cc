// Several readers of one sequence, each with its share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/broker/rank_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::HasSubstr;

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
  // A rank that is done does not end the run of the other.
  Finish(first);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kRunning);
  Finish(second);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
}

// ---- ranks that need the same pieces

// Returns the workers with a lease of each range, of all ranks, by its first
// position.
std::map<uint64_t, std::set<std::string>> WorkersOfRanges(
    const std::vector<Miller*>& workers) {
  std::map<uint64_t, std::set<std::string>> found;
  for (const Miller* worker : workers) {
    for (const Lease& lease : worker->leases()) {
      found[lease.begin.p].insert(worker->peer());
    }
  }
  return found;
}

TEST(Together, RanksHaveTheSameRangesOnTheSameWorkers) {
  Cluster cluster;
  std::vector<Miller*> workers;
  for (const char* name : {"w1", "w2", "w3"}) {
    workers.push_back(&cluster.AddWorker(name));
  }
  Reader& first = AddRank(cluster, 0, 2, "filter 100000").Hello();
  for (int i = 0; i < 3; ++i) {  // runs ahead, with growing splits
    workers[0]->says.costs = {
        {first.answer->run->plan, 100, 800, absl::Milliseconds(1)}};
    workers[0]->Beat();
    first.Take(first.split(static_cast<size_t>(i))).Beat();
  }
  Reader& second = AddRank(cluster, 1, 2, "filter 100000").Hello();
  for (int turn = 0; turn < 20; ++turn) {
    std::map<uint64_t, uint64_t> ranges;
    for (const Reader* reader : {&first, &second}) {
      for (const BoundSplit& split : reader->splits()) {
        const auto known = ranges.emplace(split.begin.p, split.end.p);
        EXPECT_EQ(known.first->second, split.end.p);
      }
    }
    EXPECT_LT(ranges.size(), first.splits().size() + second.splits().size());
    for (const auto& [begin, at] : WorkersOfRanges(workers)) {
      EXPECT_EQ(at.size(), 1) << "range " << begin;
    }
    for (Reader* reader : {&second, &first}) {
      if (!reader->splits().empty()) reader->Finish(reader->split(0)).Beat();
    }
  }
}

TEST(Together, RanksOfOneRangeCountAsOneLease) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 4);
  for (uint64_t rank = 0; rank < 4; ++rank) {
    AddRank(cluster, rank, 4, "filter 1000").Hello();
  }
  std::map<uint64_t, size_t> leases;
  for (const Lease& lease : worker.leases()) ++leases[lease.begin.p];
  EXPECT_EQ(leases.size(), 4);
  for (const auto& [begin, count] : leases) EXPECT_EQ(count, 4);
}

TEST(Together, RanksMoveTogetherWhenTheirWorkerDies) {
  Cluster cluster;
  Miller& lost = cluster.AddWorker("w1", 2);
  Reader& first = AddRank(cluster, 0, 2, "filter 1000").Hello();
  Reader& second = AddRank(cluster, 1, 2, "filter 1000").Hello();
  ASSERT_FALSE(lost.leases().empty());
  std::vector<Miller*> others = {&cluster.AddWorker("w2"),
                                 &cluster.AddWorker("w3")};
  cluster.Pass(absl::Milliseconds(1'200), {&first, &second}, others);
  const auto ranges = WorkersOfRanges(others);
  EXPECT_FALSE(ranges.empty());
  for (const auto& [begin, at] : ranges) {
    EXPECT_EQ(at.size(), 1) << "range " << begin;
  }
  for (const Reader* reader : {&first, &second}) {
    for (const BoundSplit& split : reader->splits()) {
      if (split.begin.p > 0) continue;
      EXPECT_EQ(split.leases.size(), 1);
    }
  }
}

TEST(Together, ARestartedDispatcherKnowsTheirRanges) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 2);
  Reader& first = AddRank(cluster, 0, 2, "filter 1000").Hello();
  const std::vector<BoundSplit> splits = first.splits();
  cluster.Restart();
  worker.Beat();
  Reader& second = AddRank(cluster, 1, 2, "filter 1000").Hello();
  ASSERT_TRUE(second.live());
  for (size_t i = 0; i < splits.size(); ++i) {
    EXPECT_EQ(second.split(i).begin, splits[i].begin);
    EXPECT_EQ(second.split(i).end, splits[i].end);
  }
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
  Finish(AddRank(cluster, 0, 3).Hello());
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kRunning);
  Reader& again = AddRank(cluster, 0, 3);
  for (const bool take_over : {false, true}) {
    again.hello().take_over = take_over;
    again.Hello();
    EXPECT_FALSE(again.live());
    EXPECT_EQ(again.answer->awaited, 2);
    EXPECT_EQ(again.answer->awaited_ranks, (std::vector<uint64_t>{1, 2}));
  }
}

TEST(Ranks, ARankGetsNoWaitAnswerAfterItsRunHasBegun) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Finish(AddRank(cluster, 0, 2).Hello());
  Reader& other = AddRank(cluster, 1, 2).Hello();
  while (!other.splits().empty()) other.FinishAll().Beat();
  Reader& again = AddRank(cluster, 0, 2);
  const ClientLeave leave{
      JobName("j"), RunNumber(1), other.hello().session, {}};
  const std::vector<Dispatcher::Incoming> together = {
      {PeerId(again.peer()), again.hello()},
      {PeerId(other.peer()), leave},
      {PeerId(again.peer()), again.hello()}};
  cluster.Carry(cluster.dispatcher().Handle(cluster.now(), together));
  EXPECT_EQ(again.heard, 1);
  EXPECT_TRUE(again.live());
}

// A rank is started again while no rank is connected.
TEST(Ranks, AFormerNumberIsRefusedWhileOneIsStillToEnd) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& former = AddRank(cluster, 0, 3);  // its hello arrives late
  Reader& first = AddRank(cluster, 0, 2).Hello();
  AddRank(cluster, 1, 2);
  first.Leave();
  EXPECT_TRUE(cluster.job("j")->sessions.empty());
  former.Hello();
  ASSERT_TRUE(former.reject.has_value());
  EXPECT_THAT(ErrorText(former.reject->detail),
              HasSubstr("is read by 2 consumers by now; this one is of 3"));
  EXPECT_TRUE(AddRank(cluster, 1, 2).Hello().live());
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

TEST(Ranks, NeedOrderDeterministicAValidNumberAndTheirOwnName) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& shared = cluster.AddReader("j", "0/2", "range 100", Order::kAny);
  shared.hello().share = {0, 2};
  shared.Hello();
  EXPECT_THAT(ErrorText(shared.reject->detail), HasSubstr("deterministic"));
  Reader& beyond = AddRank(cluster, 2, 2).Hello();
  EXPECT_THAT(ErrorText(beyond.reject->detail), HasSubstr("no rank 2 of 2"));
  Reader& other = cluster.AddReader("j", "me", "range 100");
  other.hello().share = {0, 2};
  other.Hello();
  EXPECT_THAT(ErrorText(other.reject->detail),
              HasSubstr("rank 0 of 2 cannot be named 'me'"));
}

TEST(Ranks, AnOlderIterationIsRefusedByItsNumber) {
  Cluster cluster(QuickTimeout());
  Miller& worker = cluster.AddWorker("w1");
  Finish(AddRank(cluster, 0, 2).Hello());
  Reader& slow = AddRank(cluster, 1, 2).Hello();
  Reader& next = AddRank(cluster, 0, 2);
  next.hello().take_over = true;
  cluster.Pass(absl::Seconds(12), {}, {&worker});
  ASSERT_TRUE(next.Hello().live());
  // The rejected reader is the earlier incarnation, not a later one.
  slow.Forget();
  WithToken(slow, 1, {}).Hello();
  ASSERT_TRUE(slow.reject.has_value());
  EXPECT_EQ(slow.reject->reason, RejectReason::kSuperseded);
  EXPECT_THAT(ErrorText(slow.reject->detail), HasSubstr("iteration 1 by now"));
}

TEST(GoingBack, ALaterLifeReadsTheRestOfAnEarlierIteration) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Finish(cluster.AddReader("j", "solo", "range 100").Hello());
  Reader& former = cluster.AddReader("j", "solo", "range 100").Hello();
  Reader& resumed = cluster.AddReader("j", "solo", "range 100");
  ASSERT_TRUE(WithToken(resumed, 1, {40, 0}).Hello().live());
  EXPECT_EQ(resumed.answer->run->iteration, 0);
  EXPECT_EQ(resumed.split(0).begin, (Cursor{40, 0}));
  // Its former incarnation is powerless.
  former.Beat();
  ASSERT_TRUE(former.reject.has_value());
  EXPECT_EQ(former.reject->reason, RejectReason::kUnknown);
  former.Forget();
  WithToken(former, 2, {10, 0}).Hello();
  ASSERT_TRUE(former.reject.has_value());
  EXPECT_EQ(former.reject->reason, RejectReason::kSuperseded);
  Finish(resumed);
  Reader& next = cluster.AddReader("j", "solo", "range 100").Hello();
  ASSERT_TRUE(next.live());
  EXPECT_EQ(next.answer->run->iteration, 1);
}

TEST(GoingBack, ALaterLifeIsUnknownAfterAFormerOneReadToTheEnd) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& former = cluster.AddReader("j", "solo", "range 100");
  Reader& later = cluster.AddReader("j", "solo", "range 100");
  // It reached a dispatcher that had lost its state first.
  Finish(WithToken(former, 2, {0, 0}).Hello());
  later.Beat();  // of run 1
  ASSERT_TRUE(later.reject.has_value());
  EXPECT_EQ(later.reject->reason, RejectReason::kUnknown);
  ASSERT_TRUE(WithToken(later, 1, {40, 0}).Hello().live());
  EXPECT_EQ(later.answer->run->iteration, 0);
}

TEST(GoingBack, ARankOfAFormerLifeNeverTakesItsLaterOnesFurther) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& former = AddRank(cluster, 1, 2);
  Reader& first = AddRank(cluster, 0, 2);
  ASSERT_TRUE(WithToken(first, 1, {30, 0}).Hello().live());
  for (const bool take_over : {false, true}) {
    former.Forget();
    former.hello().take_over = take_over;
    WithToken(former, 2, {10, 0}).Hello();
    EXPECT_FALSE(former.live());
    ASSERT_TRUE(former.answer.has_value());
    EXPECT_GT(former.answer->awaited, 0);
    first.Beat();
    EXPECT_FALSE(first.reject.has_value());
  }
  Reader& second = AddRank(cluster, 1, 2);
  ASSERT_TRUE(WithToken(second, 1, {30, 0}).Hello().live());
  EXPECT_EQ(second.answer->run->iteration, 0);
}

TEST(GoingBack, RanksThatWereBeyondWaitAndContinueWhereTheyStood) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 8);
  for (int pass = 0; pass < 2; ++pass) {
    Reader& first = AddRank(cluster, 0, 2).Hello();
    Reader& second = AddRank(cluster, 1, 2).Hello();
    Finish(first);
    Finish(second);
  }
  Reader& beyond = AddRank(cluster, 0, 2).Hello();
  ASSERT_EQ(beyond.answer->run->iteration, 2);
  Reader& resumed = AddRank(cluster, 1, 2);
  ASSERT_TRUE(WithToken(resumed, 1, {50, 0}).Hello().live());
  EXPECT_EQ(resumed.answer->run->iteration, 0);
  beyond.Beat();
  ASSERT_TRUE(beyond.reject.has_value());
  EXPECT_EQ(beyond.reject->reason, RejectReason::kUnknown);
  WithToken(beyond, 3, {20, 0});
  for (uint64_t iteration = 0; iteration < 2; ++iteration) {
    beyond.Forget();
    beyond.Hello();
    ASSERT_TRUE(beyond.answer.has_value());
    EXPECT_FALSE(beyond.live());
    EXPECT_EQ(beyond.answer->awaited, 1);
    cluster.Restart();
    worker.Beat();
    Reader& now = iteration == 0 ? resumed : AddRank(cluster, 1, 2);
    now.Hello();
    ASSERT_TRUE(now.live());
    EXPECT_EQ(now.answer->run->iteration, iteration);
    Finish(now);
  }
  beyond.Hello();
  ASSERT_TRUE(beyond.live());
  EXPECT_EQ(beyond.answer->run->iteration, 2);
  EXPECT_EQ(beyond.split(0).begin, (Cursor{20, 0}));
  EXPECT_EQ(AddRank(cluster, 1, 2).Hello().answer->run->iteration, 2);
}

TEST(GoingBack, AReaderSaysWhichRunItReadsAfterALateHello) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
  ASSERT_EQ(reader.answer->run->iteration, 0);
  ASSERT_TRUE(WithToken(reader, 2, {0, 0}).Hello().live());
  EXPECT_EQ(reader.answer->run->iteration, 1);
  reader.Beat();
  EXPECT_FALSE(reader.reject.has_value());
}

TEST(GoingBack, IsRefusedAfterTheJobPassedToAnotherNumberOfRanks) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& old = AddRank(cluster, 0, 2);
  for (uint64_t rank = 0; rank < 3; ++rank) {
    Finish(AddRank(cluster, rank, 3).Hello());
  }
  for (uint64_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(AddRank(cluster, rank, 3).Hello().live());
  }
  WithToken(old, 1, {50, 0}).Hello();
  ASSERT_TRUE(old.reject.has_value());
  EXPECT_EQ(cluster.job("j")->iteration, 1);
  Reader& later = AddRank(cluster, 0, 2);
  ASSERT_TRUE(WithToken(later, 1, {50, 0}).Hello().live());
  EXPECT_EQ(later.answer->run->iteration, 0);
}

// More ranks than the number of closed sessions whose names are kept.
TEST(Ranks, AnyNumberOfThemFinishesARun) {
  constexpr uint64_t kRanks = kClosedSessionsMax + 10;
  const JobName name("j");
  DispatcherState state;
  state.Apply(JobCreated{name, "range 100", "f"});
  state.Apply(RunStarted{name, RunNumber(1)});
  state.Apply(RunPlanned{name, 100, 100, 1, PlanId("p")});
  for (uint64_t rank = 0; rank < kRanks; ++rank) {
    const SessionKey key{name, ConsumerId(fmt::format("{}/{}", rank, kRanks))};
    state.Apply(SessionOpened{key, Incarnation(1), {}, {rank, kRanks}});
    state.Apply(SessionClosed{key});
  }
  EXPECT_EQ(state.FindJob(name)->DoneRanks(), kRanks);
  EXPECT_EQ(state.FindJob(name)->lives.size(), kRanks);
}

// ---- sequenced runs

Reader& AddSequencedRank(Cluster& cluster, uint64_t rank, uint64_t ranks) {
  Reader& reader = AddRank(cluster, rank, ranks, "filter 1000 in order");
  reader.hello().sequencing = Sequencing::kIfWorth;
  return reader;
}

Miller& AddSequencer(Cluster& cluster) {
  Miller& worker = cluster.AddWorker("w1", 4);
  worker.says.sequences = true;
  worker.Beat();
  return worker;
}

TEST(Sequenced, RanksShareOnePositionAndEachBeginsAtItsElement) {
  Cluster cluster;
  Miller& worker = AddSequencer(cluster);
  Reader& first = AddSequencedRank(cluster, 0, 2).Hello();
  ASSERT_EQ(worker.answer->definitions.size(), 1U);
  EXPECT_EQ(worker.answer->definitions[0].graph, "filter 1");
  Reader& second = AddSequencedRank(cluster, 1, 2);
  second.hello().cursor = {700, 3};  // of a token, where it is no sequenced run
  second.hello().number = 17;
  second.Hello();
  ASSERT_TRUE(first.answer->run && second.answer->run);
  for (const Reader* reader : {&first, &second}) {
    EXPECT_TRUE(reader->answer->run->sequenced);
    EXPECT_EQ(reader->answer->run->positions, 1U);
    EXPECT_EQ(reader->split(0).end, (Cursor{1, 0}));
  }
  EXPECT_EQ(first.split(0).begin, (Cursor{0, 0}));
  EXPECT_EQ(second.split(0).begin, (Cursor{0, 17}));
  const PlanId plan = first.answer->run->plan;
  EXPECT_TRUE(plan.value().ends_with("-sequence"));
  cluster.Restart();
  first.Hello();
  EXPECT_TRUE(first.answer->run->sequenced);
  EXPECT_EQ(first.answer->run->plan, plan);
}

TEST(Sequenced, OneReaderHasAPlainRunUnlessItContinuesASequencedOne) {
  Cluster cluster;
  AddSequencer(cluster);
  Reader& alone = AddSequencedRank(cluster, 0, 1).Hello();
  EXPECT_FALSE(alone.answer->run->sequenced);
  EXPECT_EQ(alone.answer->run->positions, 1'000U);
  Cluster emptied;  // the dispatcher has lost its state
  Reader& later = AddSequencedRank(emptied, 0, 1);
  later.hello().sequencing = Sequencing::kAlways;
  later.Hello();
  EXPECT_TRUE(later.answer->run->sequenced);
}

TEST(Sequenced, NotWhereItHasNoUseOrTheFirstReaderCannot) {
  Cluster cluster;
  AddSequencer(cluster);
  Reader& other = AddRank(cluster, 0, 2, "filter 1000");
  other.hello().sequencing = Sequencing::kIfWorth;
  other.Hello();
  EXPECT_FALSE(other.answer->run->sequenced);
  Cluster mixed;
  AddSequencer(mixed);
  Reader& earlier = AddSequencedRank(mixed, 0, 2);
  earlier.hello().sequencing = Sequencing::kNever;
  earlier.Hello();
  Reader& later = AddSequencedRank(mixed, 1, 2).Hello();
  EXPECT_FALSE(earlier.answer->run->sequenced);
  EXPECT_FALSE(later.answer->run->sequenced);
}

TEST(Sequenced, NotWithAWorkerOfAnEarlierVersion) {
  Cluster cluster;
  AddSequencer(cluster);
  cluster.AddWorker("w2", 4);
  Reader& rank = AddSequencedRank(cluster, 0, 2).Hello();
  EXPECT_FALSE(rank.answer->run->sequenced);
}

TEST(Sequenced, AnEarlierVersionIsRefused) {
  Cluster cluster;
  AddSequencer(cluster);
  AddSequencedRank(cluster, 0, 2).Hello();
  Reader& earlier = AddSequencedRank(cluster, 1, 2);
  earlier.hello().sequencing = Sequencing::kNever;
  earlier.Hello();
  ASSERT_TRUE(earlier.reject.has_value());
  EXPECT_THAT(ErrorText(earlier.reject->detail),
              HasSubstr("start it again with the others' version"));
}

}  // namespace
}  // namespace feedmill::testing
