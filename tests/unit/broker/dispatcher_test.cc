#include "broker/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// All positions that the splits of an answer cover, in order.
std::vector<std::pair<uint64_t, uint64_t>> Ranges(const ClientAnswer& answer) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const BoundSplit& split : answer.splits) {
    ranges.emplace_back(split.begin.p, split.end.p);
  }
  return ranges;
}

// Reads to the end as one consumer; returns the positions in order.
std::vector<std::pair<uint64_t, uint64_t>> ReadAll(Reader& reader) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  std::set<SplitId> seen;
  for (int turn = 0; turn < 1'000; ++turn) {
    for (const BoundSplit& split : reader.splits()) {
      if (!seen.insert(split.split).second) continue;
      ranges.emplace_back(split.begin.p, split.end.p);
    }
    if (reader.splits().empty()) return ranges;
    reader.FinishAll().Beat();
  }
  return ranges;
}

// ---- joining

TEST(Joining, AReaderIsBoundToSplitsThatFollowEachOther) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
  ASSERT_TRUE(reader.live());
  EXPECT_EQ(reader.answer->run->positions, 100);
  EXPECT_EQ(reader.answer->run->seed, 7);
  EXPECT_EQ(reader.answer->run->iteration, 0);
  const auto ranges = Ranges(*reader.answer);
  ASSERT_EQ(ranges.size(), 4);  // two passes, twice
  EXPECT_EQ(ranges.front().first, 0);
  for (size_t i = 1; i < ranges.size(); ++i) {
    EXPECT_EQ(ranges[i].first, ranges[i - 1].second);
  }
}

TEST(Joining, EveryPositionComesOnceAndInOrder) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  uint64_t next = 0;
  for (const auto& [begin, end] : ReadAll(reader)) {
    EXPECT_EQ(begin, next);
    next = end;
  }
  EXPECT_EQ(next, 1000);
  EXPECT_TRUE(reader.answer->exhausted);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
  EXPECT_EQ(cluster.job("j")->ending, RunEnding::kFinished);
}

TEST(Joining, ARepeatedHelloChangesNothing) {  // rule 2
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
  const DispatcherState before = cluster.state();
  const auto splits = Ranges(*reader.answer);
  reader.Hello().Hello();
  EXPECT_EQ(cluster.state(), before);
  EXPECT_EQ(Ranges(*reader.answer), splits);
}

TEST(Joining, NothingIsBoundBeforeThereIsAWorker) {
  Cluster cluster;
  Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
  EXPECT_TRUE(reader.live());
  EXPECT_THAT(reader.splits(), IsEmpty());
  EXPECT_EQ(reader.answer->workers, 0);
  cluster.AddWorker("w1");
  EXPECT_THAT(reader.splits(), SizeIs(4));
}

TEST(Joining, AnEmptyJobIsFinishedAtOnce) {
  Cluster cluster;
  Reader& reader = cluster.AddReader("j", "solo", "range 0").Hello();
  EXPECT_TRUE(reader.live());
  EXPECT_TRUE(reader.answer->exhausted);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
}

TEST(Joining, ABadGraphIsRefused) {
  Cluster cluster;
  Reader& reader = cluster.AddReader("j", "solo", "bad").Hello();
  ASSERT_TRUE(reader.reject);
  EXPECT_EQ(reader.reject->reason, RejectReason::kRefused);
  EXPECT_THAT(ErrorText(reader.reject->detail), HasSubstr("no such step"));
  EXPECT_EQ(cluster.job("j"), nullptr);
}

TEST(Joining, AHelloWithoutNamesOrSeedIsRefused) {
  Cluster cluster;
  Reader& nameless = cluster.AddReader("", "solo", "range 9").Hello();
  EXPECT_THAT(ErrorText(nameless.reject->detail), HasSubstr("lacks"));
  Reader& seedless = cluster.AddReader("j", "solo", "range 9");
  seedless.hello().seed.reset();
  seedless.Hello();
  EXPECT_THAT(ErrorText(seedless.reject->detail), HasSubstr("seed"));
}

TEST(Joining, JobsAreBoundedAndTheOldestIdleOneIsForgotten) {
  DispatcherSettings settings;
  settings.jobs_max = 2;
  Cluster cluster(settings);
  cluster.AddReader("a", "solo", "range 0").Hello().Leave();
  cluster.AddReader("b", "solo", "range 9").Hello();
  cluster.AddReader("c", "solo", "range 9").Hello();
  EXPECT_EQ(cluster.job("a"), nullptr);
  Reader& late = cluster.AddReader("d", "solo", "range 9").Hello();
  EXPECT_EQ(late.reject->detail.code(), absl::StatusCode::kResourceExhausted);
}

TEST(Joining, BytesOfJobsAreBounded) {
  const std::string graph = "range 9";
  DispatcherSettings settings;
  settings.job_bytes_max = 2 * graph.size();
  Cluster cluster(settings);
  cluster.AddReader("a", "solo", graph).Hello().Leave();
  cluster.AddReader("b", "solo", graph).Hello();
  cluster.AddReader("c", "solo", graph).Hello();
  EXPECT_EQ(cluster.job("a"), nullptr);
  Reader& late = cluster.AddReader("d", "solo", graph).Hello();
  EXPECT_EQ(late.reject->detail.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ErrorText(late.reject->detail), HasSubstr("job_bytes_max"));
}

// ---- named jobs

TEST(NamedJob, AnotherPipelineOrOrderIsRefused) {
  Cluster cluster;
  cluster.AddReader("j", "solo", "range 100").Hello();
  Reader& other = cluster.AddReader("j", "solo", "range 200").Hello();
  EXPECT_EQ(other.reject->reason, RejectReason::kRefused);
  EXPECT_THAT(ErrorText(other.reject->detail), HasSubstr("another pipeline"));
  Reader& any = cluster.AddReader("j", "s1", "range 100", Order::kAny).Hello();
  EXPECT_THAT(ErrorText(any.reject->detail), HasSubstr("order deterministic"));
}

TEST(NamedJob, TheRecordedSeedWins) {
  Cluster cluster;
  cluster.AddReader("j", "s1", "range 100", Order::kAny).Hello();
  Reader& second = cluster.AddReader("j", "s2", "range 100#x", Order::kAny);
  second.hello().seed = 8;
  second.Hello();
  EXPECT_EQ(second.answer->run->seed, 7);
}

TEST(NamedJob, ASecondReaderIsRefusedWhileTheFirstIsValid) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "solo", "range 100").Hello();
  Reader& second = cluster.AddReader("j", "solo", "range 100").Hello();
  EXPECT_EQ(second.reject->detail.code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ErrorText(second.reject->detail), HasSubstr("`take_over`"));
  first.Beat();
  EXPECT_FALSE(first.reject);
  // Half the timeout later no reader can hold the old lease.
  cluster.Pass(absl::Seconds(151));
  Reader& third = cluster.AddReader("j", "solo", "range 100").Hello();
  EXPECT_TRUE(third.live());
}

TEST(NamedJob, ALateCopyOfARefusedHelloIsRefusedAgain) {
  Cluster cluster;
  cluster.AddReader("j", "solo", "range 100").Hello();
  Reader& second = cluster.AddReader("j", "solo", "range 100").Hello();
  cluster.Pass(absl::Seconds(151));
  second.Forget();
  second.Hello();
  EXPECT_FALSE(second.live());
  EXPECT_THAT(ErrorText(second.reject->detail), HasSubstr("being read by"));
}

TEST(NamedJob, TakingOverSupersedesTheFirst) {  // rule 2
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "solo", "range 100").Hello();
  const SplitId old = first.split(0).split;
  Reader& second = cluster.AddReader("j", "solo", "range 100");
  second.hello().take_over = true;
  second.Hello();
  ASSERT_TRUE(second.live());
  EXPECT_EQ(second.split(0).begin, Cursor{});
  EXPECT_GT(second.split(0).split, old);  // rule 3: never reused
  first.Beat();
  EXPECT_EQ(first.reject->reason, RejectReason::kSuperseded);
  first.Forget();
  first.Hello();
  EXPECT_EQ(first.reject->reason, RejectReason::kSuperseded);
}

TEST(NamedJob, AnotherConsumerTakesOverForGood) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "one", "range 100").Hello();
  Reader& second = cluster.AddReader("j", "two", "range 100");
  second.hello().take_over = true;
  second.Hello();
  EXPECT_TRUE(second.live());
  first.Beat();
  EXPECT_EQ(first.reject->reason, RejectReason::kSuperseded);
}

TEST(NamedJob, ReportsOfAStaleSessionHaveNoEffect) {  // rule 3
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "solo", "range 100").Hello();
  Reader& second = cluster.AddReader("j", "solo", "range 100");
  second.hello().take_over = true;
  second.Hello();
  const DispatcherState before = cluster.state();
  first.FinishAll().Finish(second.split(0)).Beat();
  EXPECT_EQ(cluster.state(), before);
}

TEST(NamedJob, ReadingAFinishedJobAgainIsItsNextIteration) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "solo", "range 100").Hello();
  ReadAll(first);
  first.Leave();
  EXPECT_EQ(first.reject->reason, RejectReason::kReleased);
  Reader& second = cluster.AddReader("j", "solo", "range 100").Hello();
  ASSERT_TRUE(second.live());
  EXPECT_EQ(second.answer->run->iteration, 1);
  EXPECT_EQ(second.answer->run->run, RunNumber(2));
  EXPECT_NE(second.answer->run->plan, first.answer->run->plan);
  first.Forget();
  first.Beat();  // rule 1: a lower run
  EXPECT_TRUE(first.reject);
}

TEST(NamedJob, AMessageOfALowerRunIsSuperseded) {  // rule 1
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& first = cluster.AddReader("j", "s1", "range 10", Order::kAny).Hello();
  ReadAll(first);
  Reader& next = cluster.AddReader("j", "s2", "range 10", Order::kAny).Hello();
  EXPECT_EQ(next.answer->run->run, RunNumber(2));
  first.Forget();
  first.Beat();
  EXPECT_EQ(first.reject->reason, RejectReason::kSuperseded);
}

TEST(NamedJob, AReaderOfALostStoreHasItsJobCreatedAgain) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100");
  reader.hello().run = RunNumber(3);
  reader.hello().cursor = {40, 0};
  reader.Hello();
  ASSERT_TRUE(reader.live());
  EXPECT_EQ(reader.answer->run->run, RunNumber(3));
  EXPECT_EQ(reader.answer->run->iteration, 2);
  EXPECT_EQ(reader.split(0).begin, (Cursor{40, 0}));
}

TEST(NamedJob, ARunThatEndedBeforeItWasPlannedIsPlannedAgain) {
  Cluster cluster;
  Reader& first = cluster.AddReader("j", "solo", "files 100");
  first.hello().run = RunNumber(1);  // as if it joined a lost store again
  first.Hello();
  EXPECT_FALSE(first.live());
  first.Leave();
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
  Reader& second = cluster.AddReader("j", "solo", "files 100");
  second.hello().run = RunNumber(1);
  second.Hello();
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kPlanning);
  Miller& worker = cluster.AddWorker("w1");
  ASSERT_THAT(worker.answer->manifests, SizeIs(1));
  worker.says.manifests = {{worker.answer->manifests[0].graph_fingerprint,
                            absl::OkStatus(), "manifest"}};
  worker.Beat();
  ASSERT_TRUE(second.live());
  EXPECT_FALSE(second.splits().empty());
}

// ---- anonymous jobs and leaving

TEST(AnonymousJob, IsForgottenWhenItsReaderLeaves) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("@r", "r", "range 100").Hello();
  EXPECT_THAT(worker.leases(), SizeIs(2));
  reader.Leave();
  EXPECT_EQ(reader.reject->reason, RejectReason::kReleased);
  EXPECT_EQ(cluster.job("@r"), nullptr);
  EXPECT_THAT(worker.leases(), IsEmpty());
  EXPECT_THAT(cluster.state().splits, IsEmpty());
  // Late copies of its messages do not revive it.
  reader.Leave().Hello().Beat();
  EXPECT_EQ(cluster.job("@r"), nullptr);
}

TEST(AnonymousJob, IsForgottenWhenItsReaderIsSilentForLong) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("@r", "r", "range 100").Hello();
  cluster.Pass(absl::Seconds(301), {}, {&worker});
  EXPECT_EQ(cluster.job("@r"), nullptr);
  reader.Beat();
  EXPECT_EQ(reader.reject->reason, RejectReason::kUnknown);
}

TEST(Leaving, ADeterministicRunIsOver) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
  reader.Leave();
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
  EXPECT_EQ(cluster.job("j")->ending, RunEnding::kLeft);
  EXPECT_THAT(cluster.state().splits, IsEmpty());
}

TEST(Leaving, ASharersRestGoesToTheOthers) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "s1", "range 400", Order::kAny).Hello();
  const BoundSplit split = one.split(0);
  one.Report(split.split, split.end, {split.begin.p + 1, 1}).Beat();
  Reader& two = cluster.AddReader("j", "s2", "range 400", Order::kAny).Hello();
  one.Leave();
  uint64_t covered = 0;
  Cursor least{400, 0};
  for (int turn = 0; turn < 100 && !two.splits().empty(); ++turn) {
    for (const BoundSplit& s : two.splits()) {
      covered += s.end.p - s.begin.p;
      least = std::min(least, s.begin);
    }
    two.FinishAll().Beat();
  }
  // continues at its out cursor
  EXPECT_EQ(least, (Cursor{split.begin.p + 1, 1}));
  EXPECT_EQ(covered, 400 - 1 - split.begin.p);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
}

// ---- sharing readers

TEST(Sharers, GetDisjointSplits) {
  Cluster cluster;
  cluster.AddWorker("w1", 4);
  Reader& one = cluster.AddReader("j", "s1", "range 500", Order::kAny).Hello();
  Reader& two = cluster.AddReader("j", "s2", "range 500", Order::kAny).Hello();
  std::set<uint64_t> begins;
  for (const Reader* reader : {&one, &two}) {
    EXPECT_GE(reader->splits().size(), 3);
    for (const BoundSplit& split : reader->splits()) {
      EXPECT_TRUE(begins.insert(split.begin.p).second);
    }
  }
}

TEST(Sharers, AreReleasedWhenSilentAndTheNameIsNeverOpenedAgain) {  // rule 4
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& lost = cluster.AddReader("j", "s1", "range 60", Order::kAny).Hello();
  Reader& live = cluster.AddReader("j", "s2", "range 60", Order::kAny).Hello();
  const Cursor first = lost.split(0).begin;
  cluster.Pass(absl::Seconds(31), {&live}, {&worker});
  lost.Beat();
  EXPECT_EQ(lost.reject->reason, RejectReason::kReleased);
  lost.Forget();
  lost.Hello();
  EXPECT_EQ(lost.reject->reason, RejectReason::kReleased);
  bool came_back = false;
  for (int turn = 0; turn < 9 && !live.splits().empty(); ++turn) {
    for (const BoundSplit& split : live.splits()) {
      came_back = came_back || split.begin == first;
    }
    live.FinishAll().Beat();
  }
  EXPECT_TRUE(came_back);
}

TEST(Sharers, AreReleasedWhenSilentAlsoIfTheDispatcherRestartsOften) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& lost = cluster.AddReader("j", "s1", "range 60", Order::kAny).Hello();
  Reader& live = cluster.AddReader("j", "s2", "range 60", Order::kAny).Hello();
  const auto released = [&] {
    return cluster.state().FindSession({JobName("j"), ConsumerId("s1")}) ==
           nullptr;
  };
  int restarts = 0;
  while (!released()) {
    ASSERT_LT(restarts, 12);
    cluster.Pass(absl::Seconds(5), {&live});
    if (++restarts == 2) {  // it was away for a while
      EXPECT_GT(cluster.state()
                    .FindSession({JobName("j"), ConsumerId("s1")})
                    ->silence,
                0u);
      lost.Beat();
      EXPECT_EQ(cluster.state()
                    .FindSession({JobName("j"), ConsumerId("s1")})
                    ->silence,
                0u);
    }
    cluster.Restart();
  }
  EXPECT_GE(restarts, 8);  // 30 s after it was heard last
  live.Beat();
  EXPECT_TRUE(live.live());
}

TEST(Sharers, AreExhaustedAtOnceWhenNoSplitIsLeft) {  // rule 19
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "s1", "range 7", Order::kAny).Hello();
  Reader& two = cluster.AddReader("j", "s2", "range 7", Order::kAny).Hello();
  for (int turn = 0; turn < 20 && !two.answer->exhausted; ++turn) {
    one.FinishAll().Beat();
    two.FinishAll();
    if (!one.answer->exhausted) two.Beat();
  }
  EXPECT_TRUE(one.answer->exhausted);
  EXPECT_TRUE(two.answer->exhausted);
}

TEST(Sharers, AreFinishedWhenAllIsReportedOut) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "s1", "range 7", Order::kAny).Hello();
  Reader& two = cluster.AddReader("j", "s2", "range 7", Order::kAny).Hello();
  for (int turn = 0; turn < 20 && !two.splits().empty(); ++turn) {
    two.FinishAll().Beat();
  }
  EXPECT_FALSE(two.answer->finished);
  EXPECT_FALSE(one.splits().empty());
  // The remaining elements of a reader that leaves go to the other one.
  const BoundSplit rest = one.split(0);
  one.Forget();
  one.Leave();
  ASSERT_FALSE(two.splits().empty());
  EXPECT_EQ(two.split(0).begin, rest.begin);
  EXPECT_FALSE(two.answer->finished);
  for (int turn = 0; turn < 20 && !two.answer->finished; ++turn) {
    two.FinishAll().Beat();
  }
  EXPECT_TRUE(two.answer->finished);
}

TEST(Sharers, TheReportOfALeaveCounts) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "s1", "range 7", Order::kAny).Hello();
  Reader& two = cluster.AddReader("j", "s2", "range 7", Order::kAny).Hello();
  for (int turn = 0; turn < 20 && !two.splits().empty(); ++turn) {
    two.FinishAll().Beat();
  }
  one.FinishAll().Leave();
  EXPECT_TRUE(two.answer->finished);
}

TEST(Sharers, UnknownOnesAreNotReleased) {
  Cluster cluster;
  Reader& ghost = cluster.AddReader("j", "s1", "range 9", Order::kAny).Beat();
  EXPECT_EQ(ghost.reject->reason, RejectReason::kUnknown);
}

TEST(Sessions, AnEarlierLifeStaysOutWhenTheLastOneIsReleased) {  // rule 2
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& zombie = cluster.AddReader("j", "solo", "range 100");
  Reader& last = cluster.AddReader("j", "solo", "range 100").Hello();
  cluster.Pass(absl::Minutes(6), {}, {&worker});
  EXPECT_TRUE(cluster.job("j")->sessions.empty());
  zombie.Hello();
  ASSERT_TRUE(zombie.reject.has_value());
  EXPECT_EQ(zombie.reject->reason, RejectReason::kSuperseded);
  last.Forget();
  last.Hello();
  EXPECT_FALSE(last.reject.has_value());
}

TEST(Sessions, AHeartbeatOfALaterLifeIsUnknownNeverSuperseded) {  // rule 2
  Cluster cluster;
  cluster.AddReader("j", "solo", "range 100").Hello();
  Reader& later = cluster.AddReader("j", "solo", "range 100").Beat();
  EXPECT_EQ(later.reject->reason, RejectReason::kUnknown);
}

// ---- heartbeats

// A worker without leases that knows this dispatcher.
Miller& AddIdleWorker(Cluster& cluster, const std::string& name) {
  Miller& worker = cluster.AddWorker(name);
  worker.says.seen = worker.answer->seen;
  worker.Forget();
  return worker;
}

size_t WorkerCount(Cluster& cluster) {
  return nlohmann::json::parse(cluster.dispatcher().StatusJson(cluster.now()))
      .at("totals")
      .at("workers");
}

TEST(Beats, EveryFourthOfAnIdleWorkerIsAnswered) {  // P-163
  Cluster cluster;
  Miller& worker = AddIdleWorker(cluster, "w1");
  for (int beat = 0; beat < 8; ++beat) worker.Beat();
  EXPECT_EQ(worker.heard, 2);
}

TEST(Beats, AreAnsweredIfTheyHaveNews) {  // P-163
  Cluster cluster;
  Miller& worker = AddIdleWorker(cluster, "w1");
  worker.says.slots = 3;
  EXPECT_EQ(worker.Beat().heard, 1);
  worker.says.plans = {PlanId("a plan")};
  EXPECT_EQ(worker.Beat().heard, 2);
  worker.says.costs = {{PlanId("a plan"), 1, 1, absl::Seconds(1)}};
  EXPECT_EQ(worker.Beat().heard, 3);
  worker.says.costs.clear();
  EXPECT_EQ(worker.Beat().heard, 3);
  worker.says.seen = {};  // from an unknown dispatcher
  EXPECT_EQ(worker.Beat().heard, 4);
  worker.says.draining = true;
  EXPECT_TRUE(worker.Beat().answer->drained);
}

TEST(Beats, AreAnsweredTheNumberOfWorkersThatTakeLeases) {  // P-290
  Cluster cluster;
  Miller& first = AddIdleWorker(cluster, "w1");
  Miller& second = AddIdleWorker(cluster, "w2");
  second.says.slots = 3;
  EXPECT_EQ(second.Beat().answer->workers, 2U);
  second.says.draining = true;
  second.Beat();
  first.says.slots = 3;
  EXPECT_EQ(first.Beat().answer->workers, 1U);
}

TEST(Beats, AreAllAnsweredWhileTheWorkerHasLeases) {  // P-163
  Cluster cluster;
  Miller& worker = AddIdleWorker(cluster, "w1");
  cluster.AddReader("j", "solo", "range 1000").Hello();
  const size_t heard = worker.heard;
  EXPECT_THAT(worker.leases(), Not(IsEmpty()));
  worker.Beat().Beat();
  EXPECT_EQ(worker.heard, heard + 2);
}

TEST(Beats, AWorkerWithALongIntervalIsNotLostWhenFewAreLeft) {  // P-163
  DispatcherSettings settings;
  settings.heartbeat_interval = absl::Milliseconds(10);
  settings.worker_timeout = absl::Milliseconds(200);
  Cluster cluster(settings);
  for (int k = 0; k < 1800; ++k) AddIdleWorker(cluster, std::to_string(k));
  cluster.Pass(absl::Milliseconds(500));
  for (int k = 1800; k < 2000; ++k) AddIdleWorker(cluster, std::to_string(k));
  cluster.Pass(absl::Milliseconds(500));  // the first are lost
  EXPECT_EQ(WorkerCount(cluster), 200);
  cluster.Pass(absl::Milliseconds(400));
  EXPECT_EQ(WorkerCount(cluster), 0);
}

// ---- reports

TEST(Reports, TakenMovesTheWindowAndOutEndsTheBinding) {  // rule 16
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const BoundSplit head = reader.split(0);
  reader.Take(head).Beat();
  EXPECT_THAT(reader.splits(), SizeIs(5));
  EXPECT_EQ(reader.split(0).split, head.split);
  EXPECT_THAT(reader.split(0).leases, IsEmpty());
  reader.Finish(head).Beat();
  EXPECT_THAT(reader.splits(), SizeIs(4));
  EXPECT_NE(reader.split(0).split, head.split);
}

TEST(Reports, NeverGoBackAndStayInTheSplit) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const SplitId head = reader.split(0).split;
  reader.Report(head, {4, 0}, {2, 0}).Beat();
  reader.Report(head, {1, 0}, {1, 0}).Beat();
  EXPECT_EQ(cluster.state().FindSplit(head)->taken, (Cursor{4, 0}));
  EXPECT_EQ(cluster.state().FindSplit(head)->out, (Cursor{2, 0}));
  reader.Report(head, {~uint64_t{0}, 9}, {2, 0}).Beat();
  EXPECT_TRUE(cluster.state().FindSplit(head)->served());
}

TEST(Reports, AreIgnoredForSplitsOfOtherSessions) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  Reader& one = cluster.AddReader("a", "solo", "range 100").Hello();
  Reader& two = cluster.AddReader("b", "solo", "range 100").Hello();
  two.Finish(one.split(0)).Beat();
  EXPECT_FALSE(cluster.state().FindSplit(one.split(0).split)->served());
}

TEST(Parking, ASilentClientGetsNothingNew) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const size_t bound = reader.splits().size();
  cluster.Pass(absl::Seconds(2), {}, {&worker});
  cluster.AddWorker("w2", 16);
  EXPECT_THAT(cluster.job("j")->sessions.at(ConsumerId("solo")).splits,
              SizeIs(bound));
  reader.Beat();
  EXPECT_GT(reader.splits().size(), bound);
}

}  // namespace
}  // namespace feedmill::testing
