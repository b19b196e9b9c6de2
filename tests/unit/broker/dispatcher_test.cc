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
  ASSERT_EQ(ranges.size(), 4);  // two slots, twice
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
  EXPECT_TRUE(reader.answer->dry);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
  EXPECT_TRUE(cluster.job("j")->complete);
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
  EXPECT_TRUE(reader.answer->dry);
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
  EXPECT_THAT(ErrorText(second.reject->detail), HasSubstr("--take-over"));
  first.Beat();
  EXPECT_FALSE(first.reject);
  // Half the timeout later nobody can be reading under the old lease.
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
  EXPECT_GT(second.split(0).split, old);  // rule 3: never used again
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

TEST(NamedJob, WhatAStaleSessionSaysHasNoEffect) {  // rule 3
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
  // Late copies of what it said do not raise it.
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
  EXPECT_FALSE(cluster.job("j")->complete);
  EXPECT_THAT(cluster.state().splits, IsEmpty());
}

TEST(Leaving, ASharersRestGoesToTheOthers) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "s1", "range 20", Order::kAny).Hello();
  const BoundSplit split = one.split(0);
  one.Report(split.split, split.end, {split.begin.p + 1, 1}).Beat();
  Reader& two = cluster.AddReader("j", "s2", "range 20", Order::kAny).Hello();
  one.Leave();
  uint64_t covered = 0;
  Cursor least{100, 0};
  for (int turn = 0; turn < 100 && !two.splits().empty(); ++turn) {
    for (const BoundSplit& s : two.splits()) {
      covered += s.end.p - s.begin.p;
      least = std::min(least, s.begin);
    }
    two.FinishAll().Beat();
  }
  EXPECT_EQ(least, (Cursor{split.begin.p + 1, 1}));  // goes on from its out
  EXPECT_EQ(covered, 20 - 1 - split.begin.p);
  EXPECT_EQ(cluster.job("j")->phase, RunPhase::kFinished);
}

// ---- sharers

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

TEST(Sharers, AreToldAtOnceWhenNothingIsLeft) {  // rule 19
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "s1", "range 7", Order::kAny).Hello();
  Reader& two = cluster.AddReader("j", "s2", "range 7", Order::kAny).Hello();
  for (int turn = 0; turn < 20 && !two.answer->dry; ++turn) {
    one.FinishAll().Beat();
    two.FinishAll();
    if (!one.answer->dry) two.Beat();
  }
  EXPECT_TRUE(one.answer->dry);
  EXPECT_TRUE(two.answer->dry);
}

TEST(Sharers, UnknownOnesAreNotReleased) {
  Cluster cluster;
  Reader& ghost = cluster.AddReader("j", "s1", "range 9", Order::kAny).Beat();
  EXPECT_EQ(ghost.reject->reason, RejectReason::kUnknown);
}

TEST(Sessions, ABeatOfALaterLifeIsUnknownNeverSuperseded) {  // rule 2
  Cluster cluster;
  cluster.AddReader("j", "solo", "range 100").Hello();
  Reader& later = cluster.AddReader("j", "solo", "range 100").Beat();
  EXPECT_EQ(later.reject->reason, RejectReason::kUnknown);
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

TEST(Reports, OfOthersAreIgnored) {
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

// ---- manifests

TEST(Manifest, AnyWorkerIsAskedAndTheAnswerPlansTheRun) {
  Cluster cluster;
  Reader& reader = cluster.AddReader("j", "solo", "files 50").Hello();
  EXPECT_FALSE(reader.live());
  Miller& worker = cluster.AddWorker("w1");
  ASSERT_THAT(worker.answer->manifests, SizeIs(1));
  EXPECT_EQ(worker.answer->manifests[0].graph, "files 50");
  worker.says.manifests = {{worker.answer->manifests[0].graph_fingerprint,
                            absl::OkStatus(), "the files"}};
  worker.Beat();
  EXPECT_TRUE(reader.live());
  EXPECT_THAT(worker.answer->manifests, IsEmpty());
  ASSERT_THAT(worker.answer->definitions, SizeIs(1));
  EXPECT_EQ(worker.answer->definitions[0].manifest, "the files");
}

TEST(Manifest, AnotherWorkerIsAskedWhenTheFirstIsLost) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Miller& second = cluster.AddWorker("w2");
  Reader& reader = cluster.AddReader("j", "solo", "files 50").Hello();
  EXPECT_THAT(first.answer->manifests, SizeIs(1));
  EXPECT_THAT(second.answer->manifests, IsEmpty());
  cluster.Pass(absl::Seconds(2), {&reader}, {&second});
  EXPECT_THAT(second.answer->manifests, SizeIs(1));
}

TEST(Manifest, AFailureRefusesTheReadersAndAnotherTryStartsAnew) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "files 50").Hello();
  worker.says.manifests = {
      {"files 50", NotFound("no file matches /data/*.jpg"), ""}};
  worker.Beat();
  ASSERT_TRUE(reader.reject);
  EXPECT_EQ(reader.reject->reason, RejectReason::kRefused);
  EXPECT_EQ(reader.reject->detail.code(), absl::StatusCode::kNotFound);
  worker.says.manifests.clear();
  worker.Beat();
  Reader& again = cluster.AddReader("j", "solo", "files 60").Hello();
  EXPECT_FALSE(again.reject);
  EXPECT_THAT(worker.answer->manifests, SizeIs(1));
}

// ---- leases

TEST(Leases, HeadsGoFirstAndTheLeastLoadedWorkerGetsThem) {
  Cluster cluster;
  Miller& small = cluster.AddWorker("w1", 1);
  Miller& large = cluster.AddWorker("w2", 3);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  EXPECT_THAT(small.leases(), SizeIs(1));
  EXPECT_THAT(large.leases(), SizeIs(3));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(reader.split(i).leases, SizeIs(1)) << i;
  }
  EXPECT_THAT(reader.split(4).leases, IsEmpty());
}

TEST(Leases, AHeadIsLeasedEvenIfAllSlotsAreHeld) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 2);
  cluster.AddReader("a", "solo", "range 1000").Hello();
  EXPECT_THAT(worker.leases(), SizeIs(2));
  Reader& late = cluster.AddReader("b", "solo", "range 1000").Hello();
  EXPECT_THAT(late.split(0).leases, SizeIs(1));
}

TEST(Leases, OfALostWorkerGoElsewhereWithAHigherAttempt) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const LeaseRef lease = reader.split(0).leases.at(0);
  EXPECT_EQ(lease.worker, WorkerId("w1"));
  Miller& second = cluster.AddWorker("w2");
  cluster.Pass(absl::Seconds(2), {&reader}, {&second});
  ASSERT_THAT(reader.split(0).leases, SizeIs(1));
  EXPECT_EQ(reader.split(0).leases[0].worker, WorkerId("w2"));
  EXPECT_GT(reader.split(0).leases[0].attempt, lease.attempt);
  // It comes back, as the same process: its leases are gone.
  first.Beat();
  for (const Lease& held : first.leases()) {
    EXPECT_NE(held.split, reader.split(0).split);
  }
}

TEST(Leases, ARestartedWorkerLosesThemAndTheOldLifeIsIgnored) {  // rule 5
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const Attempt before = reader.split(0).leases.at(0).attempt;
  const WorkerBeat old = worker.says;
  worker.says.incarnation = Incarnation(1'000);
  worker.answer.reset();
  worker.Beat();
  EXPECT_GT(reader.split(0).leases.at(0).attempt, before);
  worker.Forget();
  cluster.Say(worker.peer(), old);
  EXPECT_EQ(worker.heard, 0);
}

TEST(Leases, AStandingCursorGetsASecondAttemptOnAnIdleWorker) {  // rule 18
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1", 8);
  Reader& reader = cluster.AddReader("j", "solo", "range 6").Hello();
  Miller& second = cluster.AddWorker("w2", 8);
  cluster.Pass(absl::Milliseconds(900), {&reader}, {&first, &second});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
  cluster.Pass(absl::Milliseconds(300), {&reader}, {&first, &second});
  ASSERT_THAT(reader.split(0).leases, SizeIs(2));
  EXPECT_EQ(reader.split(0).leases[1].worker, WorkerId("w2"));
  EXPECT_THAT(reader.split(1).leases, SizeIs(1));
}

TEST(Leases, AConsumerThatIsSlowItselfGetsNoSecondAttempt) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1", 8);
  Reader& reader = cluster.AddReader("j", "solo", "range 6").Hello();
  Miller& second = cluster.AddWorker("w2", 8);
  reader.Report(reader.split(0).split, {0, 3}, {0, 1});
  cluster.Pass(absl::Seconds(3), {&reader}, {&first, &second});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
}

TEST(Leases, WithoutAnIdleWorkerAFullOneTakesTheHeadLater) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1", 1);
  Miller& second = cluster.AddWorker("w2", 1);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  cluster.Pass(absl::Milliseconds(1800), {&reader}, {&first, &second});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
  cluster.Pass(absl::Milliseconds(600), {&reader}, {&first, &second});
  EXPECT_THAT(reader.split(0).leases, SizeIs(2));
}

TEST(Leases, FailuresGoElsewhereAndThenFailTheSplit) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Miller& second = cluster.AddWorker("w2");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const SplitId head = reader.split(0).split;
  std::vector<std::string> tried;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(reader.split(0).leases, SizeIs(1));
    const LeaseRef lease = reader.split(0).leases[0];
    tried.push_back(lease.worker.value());
    Miller& holder = lease.worker == first.says.worker ? first : second;
    holder.says.failures = {
        {head, lease.attempt, Unavailable("/data/a.jpg: I/O error")}};
    holder.Beat().Beat();  // repeated until the lease is gone
  }
  EXPECT_NE(tried[0], tried[1]);
  ASSERT_EQ(reader.split(0).split, head);
  EXPECT_THAT(reader.split(0).leases, IsEmpty());
  EXPECT_THAT(ErrorText(reader.split(0).error), HasSubstr("a.jpg"));
}

TEST(Draining, LeasesMoveToOthersAtOnce) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  Miller& second = cluster.AddWorker("w2", 4);
  first.says.draining = true;
  first.Beat();
  EXPECT_THAT(first.leases(), IsEmpty());
  EXPECT_TRUE(first.answer->drained);
  EXPECT_EQ(reader.split(0).leases.at(0).worker, second.says.worker);
}

TEST(Draining, AloneItFinishesWhatItHasAndGetsNothingNew) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  worker.says.draining = true;
  worker.Beat();
  EXPECT_THAT(worker.leases(), SizeIs(2));
  EXPECT_FALSE(worker.answer->drained);
  reader.Finish(reader.split(0)).Finish(reader.split(1)).Beat();
  EXPECT_THAT(worker.leases(), IsEmpty());
  EXPECT_TRUE(worker.answer->drained);
}

// ---- at once, and to nobody else

TEST(Telling, ABeatThatFreesASlotGivesTheNextLeaseAtOnce) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  worker.Forget();
  reader.Forget();
  // Not a word from the worker in between.
  reader.answer = ClientAnswer{};
  reader.answer->run = RunInfo{RunNumber(1), 0, 0, 0, 0, PlanId()};
  const SplitId head =
      *cluster.job("j")->sessions.at(ConsumerId("solo")).splits.begin();
  reader.Report(head, {900, 0}, {900, 0}).Beat();
  EXPECT_EQ(worker.heard, 1);
  EXPECT_THAT(worker.leases(), SizeIs(2));
  EXPECT_EQ(reader.heard, 1);
}

TEST(Telling, OthersHearNothingOfIt) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 16);
  Reader& one = cluster.AddReader("a", "solo", "range 1000").Hello();
  Reader& two = cluster.AddReader("b", "solo", "range 1000").Hello();
  worker.Beat();
  worker.heard = one.heard = two.heard = 0;
  one.Beat();  // nothing new in it
  EXPECT_EQ(one.heard, 1);
  EXPECT_EQ(worker.heard, 0);
  EXPECT_EQ(two.heard, 0);
  worker.Beat();
  EXPECT_EQ(worker.heard, 1);
  EXPECT_EQ(one.heard, 1);
}

TEST(Telling, ALostWorkersReadersHearAtOnce) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  reader.heard = 0;
  cluster.Pass(absl::Seconds(2));
  EXPECT_GE(reader.heard, 1);
  EXPECT_THAT(reader.split(0).leases, IsEmpty());
}

TEST(Telling, ADefinitionIsSaidOnceAndAgainIfItWasLost) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  EXPECT_THAT(worker.answer->definitions, SizeIs(1));
  worker.says.plans.clear();
  cluster.Say(worker.peer(), worker.says);
  EXPECT_THAT(worker.answer->definitions, IsEmpty());
  cluster.Pass(absl::Milliseconds(600), {&reader});
  cluster.Say(worker.peer(), worker.says);
  EXPECT_THAT(worker.answer->definitions, SizeIs(1));
}

TEST(Telling, AMessageForSomeoneElseIsRefused) {
  Cluster cluster;
  cluster.Say("stranger", Grant{});
  EXPECT_TRUE(std::holds_alternative<Refusal>(cluster.last->message));
}

// ---- restart

TEST(Restart, ReplayGivesTheStateAndHeldLeasesAreAdopted) {  // rules 9, 10
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const LeaseRef lease = reader.split(0).leases.at(0);
  cluster.Restart();
  worker.Beat();
  reader.Beat();
  ASSERT_THAT(reader.split(0).leases, SizeIs(1));
  EXPECT_EQ(reader.split(0).leases[0], lease);
}

TEST(Restart, WhatNobodyReportsIsLeasedAfterTheGrace) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  cluster.Restart();
  worker.answer.reset();
  worker.says.incarnation = Incarnation(1'000);
  worker.Beat();
  reader.Beat();
  EXPECT_THAT(reader.split(0).leases, IsEmpty());
  cluster.Pass(absl::Seconds(1), {&reader}, {&worker});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
}

// ---- sizes

TEST(Sizes, GrowTowardTheTimeOfASplitAndShrinkAtOnce) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 1);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000000").Hello();
  const auto size = [&] {
    const BoundSplit& last = reader.splits().back();
    return last.end.p - last.begin.p;
  };
  EXPECT_EQ(size(), 10);
  const PlanId plan = reader.answer->run->plan;
  worker.says.costs = {{plan, 10'000, 0, absl::Milliseconds(10)}};  // 1 µs each
  worker.Beat();
  worker.says.costs.clear();
  reader.Finish(reader.split(0)).Beat();
  EXPECT_EQ(size(), 40);
  reader.Finish(reader.split(0)).Beat();
  EXPECT_EQ(size(), 160);
  worker.says.costs = {{plan, 10'000, 0, absl::Seconds(10'000)}};  // 1 s each
  worker.Beat();
  reader.Finish(reader.split(0)).Beat();
  EXPECT_EQ(size(), 1);
}

TEST(Sizes, AreBoundedByBytes) {
  SplitSizer sizer({absl::Milliseconds(100), 1'000}, 64);
  CostEstimate cost;
  cost.Add(10, 1'000, absl::Microseconds(1));
  EXPECT_EQ(sizer.Next(cost, 1'000'000, 4), 10);
}

TEST(Sizes, NearTheEndEverySlotGetsWork) {
  SplitSizer sizer({absl::Milliseconds(100), 1'000}, 64);
  const CostEstimate unknown;
  EXPECT_EQ(sizer.Next(unknown, 80, 4), 10);
  EXPECT_EQ(sizer.Next(unknown, 3, 4), 1);
}

TEST(Sizes, SurviveAbsurdMeasurements) {
  SplitSizer sizer({absl::Milliseconds(100), 1'000}, 64);
  CostEstimate cost;
  for (int i = 0; i < 100; ++i) {
    cost.Add(~uint64_t{0}, ~uint64_t{0}, absl::InfiniteDuration());
  }
  cost.Add(0, 1, -absl::Seconds(1));
  EXPECT_GE(sizer.Next(cost, ~uint64_t{0}, 0), 1);
}

// ---- intervals and status

TEST(Intervals, GrowWithThePeers) {
  DispatcherSettings settings;
  settings.heartbeat_interval = absl::Milliseconds(1);
  Cluster cluster(settings);
  Reader* reader = nullptr;
  for (int i = 0; i < 50; ++i) {
    reader = &cluster.AddReader(fmt::format("@{}", i), "r", "range 0");
    reader->Hello();
  }
  EXPECT_EQ(reader->answer->heartbeat_interval, absl::Milliseconds(5));
}

TEST(Status, NamesJobsSessionsAndWorkers) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j\xff", "solo", "range 1000").Hello();
  reader.Finish(reader.split(0)).Beat();
  cluster.Say("tool", StatusRequest{});
  const auto* reply = std::get_if<StatusReply>(&cluster.last->message);
  ASSERT_NE(reply, nullptr);
  const auto status = nlohmann::json::parse(reply->json);
  EXPECT_EQ(status["totals"]["workers"], 1);
  EXPECT_EQ(status["workers"][0]["address"], "w1");
  EXPECT_EQ(status["workers"][0]["leases"], 2);
  EXPECT_EQ(status["jobs"][0]["state"], "running");
  EXPECT_EQ(status["jobs"][0]["positions"], 1000);
  EXPECT_EQ(status["jobs"][0]["taken_percent"], 1.0);
  EXPECT_EQ(status["jobs"][0]["sessions"][0]["consumer"], "solo");
}

}  // namespace
}  // namespace feedmill::testing
