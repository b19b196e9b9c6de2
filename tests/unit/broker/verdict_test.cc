#include "broker/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "broker/fleet_use.h"
#include "broker/load_window.h"

// Verdicts in constructed situations; tests/monitoring/verdicts.py tests them
// with real processes.

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

VerdictInput::Reader Waiting(double part, std::string name = "solo") {
  VerdictInput::Reader reader;
  reader.name = std::move(name);
  reader.elapsed_s = 5;
  reader.waited_s = 5 * part;
  reader.elements = 1000;
  return reader;
}

VerdictInput::Worker Worker(double busy, double streams = 4,
                            std::string name = "tcp://w0:1") {
  VerdictInput::Worker worker;
  worker.name = std::move(name);
  worker.threads = 2;
  worker.busy = busy;
  worker.streams = streams;
  return worker;
}

// Two busy workers that mostly decode, and a waiting reader.
VerdictInput Busy() {
  VerdictInput input;
  input.readers = {Waiting(0.8)};
  input.workers = {Worker(0.95), Worker(0.9, 4, "tcp://w1:1")};
  input.steps = {{"images a.jpg", true, 0.5, 0.4},
                 {"steps[1] decode_image", false, 4, 3.9},
                 {"steps[2] resize", false, 1, 1}};
  return input;
}

TEST(Verdict, NamesTheStepThatTakesMostOfBusyWorkers) {
  const Verdict verdict = Judge(Busy());
  EXPECT_EQ(verdict.bound_by, BoundBy::kStep);
  EXPECT_EQ(verdict.where, "steps[1] decode_image");
  EXPECT_NEAR(verdict.gain, 5, 0.01);  // 1 / (1 - 0.8)
  EXPECT_THAT(verdict.sentence, HasSubstr("waits for data 80 % of its time"));
  EXPECT_FALSE(verdict.evidence.empty());
}

TEST(Verdict, SaysThatMoreWorkersDoNotHelpOnePosition) {
  VerdictInput input = Busy();
  input.positions = 1;
  input.workers = {Worker(0.5, 1), Worker(0, 0, "tcp://w1:1")};
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kPositions);
  EXPECT_EQ(verdict.where, "steps[1] decode_image");
  EXPECT_THAT(verdict.sentence,
              HasSubstr("its source has 1 position, and one worker makes each, "
                        "so that more workers do not help; steps[1] "
                        "decode_image takes 73 % of the time"));
  // One worker of one thread is no reason for more of them.
  input.workers = {Worker(0.95, 1)};
  input.workers[0].threads = 1;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kPositions);
  // The threads have time left: it is something else.
  input.workers[0].busy = 0.2;
  EXPECT_NE(Judge(input).bound_by, BoundBy::kPositions);
  input.positions = 100;
  input.workers[0].busy = 0.95;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
}

TEST(Verdict, NamesAWorkerThatAReaderCannotReach) {
  VerdictInput input = Busy();
  input.readers.push_back(Waiting(0.1, "1/2"));
  input.readers.back().unreachable = "tcp://w1:1";
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kLink);
  EXPECT_EQ(verdict.where, "tcp://w1:1");
  EXPECT_THAT(verdict.sentence,
              StartsWith("reader 1/2 cannot reach worker tcp://w1:1: check the "
                         "worker's --advertise"));
  EXPECT_FALSE(verdict.measured);
}

TEST(Verdict, NamesASlowSource) {
  VerdictInput input = Busy();
  input.steps[0].wall_s = 20;
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kSource);
  EXPECT_EQ(verdict.where, "images a.jpg");
  EXPECT_THAT(verdict.sentence, HasSubstr("mostly waiting"));
}

TEST(Verdict, CountsTimeOnACoreAndBlockedNotTheMachinesOtherLoad) {
  // Decoding has 3.9 s of CPU, resizing 1: other load does not change that.
  EXPECT_EQ(Judge(Busy()).where, "steps[1] decode_image");
}

TEST(Verdict, SaysWorkersWhereNoStepTakesMost) {
  VerdictInput input = Busy();
  input.steps = {{"a", true, 1, 1}, {"b", false, 1, 1}, {"c", false, 1, 1}};
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kWorkers);
}

TEST(Verdict, SaysWorkersWhereTheyWorkForOtherJobs) {
  VerdictInput input = Busy();
  for (VerdictInput::Worker& worker : input.workers) worker.share = 0.2;
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kWorkers);
  EXPECT_THAT(verdict.sentence, HasSubstr("only 20 %"));
}

TEST(Verdict, NamesAStraggler) {
  VerdictInput input = Busy();
  input.workers = {Worker(0.1), Worker(1, 4, "tcp://slow:1"),
                   Worker(0.05, 4, "tcp://w2:1")};
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kWorkers);
  EXPECT_EQ(verdict.where, "tcp://slow:1");
}

TEST(Verdict, NamesAWorkerThatIsBusyAndFarSlowerThanTheOthers) {
  VerdictInput input = Busy();
  input.workers.push_back(Worker(0.9, 4, "tcp://slow:1"));
  input.workers[0].speed = 50;
  input.workers[1].speed = 48;
  input.workers[2].speed = 4;
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kWorkers);
  EXPECT_EQ(verdict.where, "tcp://slow:1");
  EXPECT_NEAR(verdict.gain, 146.0 / 102, 0.01);
  EXPECT_THAT(verdict.sentence, HasSubstr("12.0 times slower"));
  input.workers[2].speed = 30;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
}

// Two workers read files of 20 lines from a store that refuses two of three
// requests. A file takes seconds, and one worker got none in the window.
TEST(Verdict, NamesNoStragglerWhereElementsComeInLumps) {
  VerdictInput input = Busy();
  input.workers = {Worker(1, 2.4), Worker(1, 2.5, "tcp://w1:1")};
  input.workers[0].speed = 12.5;  // 40 lines in 3.2 s
  input.workers[0].progress = 2.0 / 15;
  input.workers[1].speed = 0;
  input.workers[1].progress = 0;
  input.steps = {{"text(400 names)", true, 6.4, 0}};
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kSource);
  // The store answers some requests a second.
  input.workers[0].speed = 53;
  input.workers[0].progress = 9.0 / 15;
  input.workers[1].speed = 10;
  input.workers[1].progress = 2.0 / 15;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kSource);
  input.workers[0].progress = 1;
  EXPECT_EQ(Judge(input).where, "tcp://w1:1");
}

TEST(Verdict, CountsWorkersThatHaveNothingOfTheJob) {
  VerdictInput input = Busy();
  input.workers.push_back(Worker(0.95, 0, "the others"));
  input.workers.back().count = 7;
  input.workers.back().share = 0;
  input.steps.clear();
  EXPECT_THAT(Judge(input).sentence, HasSubstr("9 workers"));
  input.workers.back().threads = 0;  // unknown
  input.workers.erase(input.workers.begin(), input.workers.begin() + 2);
  EXPECT_NE(Judge(input).sentence, "");
  EXPECT_THAT(Judge(input).sentence, Not(HasSubstr("there are no workers")));
}

TEST(Verdict, IsNoLinkWhereWorkersAreBusyAndMakeAheadOfTheHead) {
  VerdictInput input = Busy();
  for (VerdictInput::Worker& worker : input.workers) {
    worker.busy = 0.6;
    worker.waiting_for_credit = 2;
  }
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
}

TEST(Verdict, NamesTheWorkerThatHasTheHeadOfSkewedSplits) {
  VerdictInput input = Busy();
  input.workers = {Worker(0.3), Worker(0.5, 4, "tcp://w1:1")};
  input.readers[0].head_worker = "tcp://w1:1";
  input.readers[0].head_s = 3;
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kWorkers);
  EXPECT_EQ(verdict.where, "tcp://w1:1");
}

// Three workers of one thread. One batch of a thousand records takes 3 s, and
// each worker is at one of these most of the time.
TEST(Verdict, NamesTheWorkerThatHasTheHeadWhereAllHaveCostlyRecords) {
  VerdictInput input = Busy();
  input.workers = {Worker(0.85, 2.1), Worker(0.85, 2.1, "tcp://w1:1"),
                   Worker(0.85, 2, "tcp://w2:1")};
  for (VerdictInput::Worker& worker : input.workers) {
    worker.threads = 1;
    worker.waiting_for_credit = 0.6;
  }
  input.steps = {{"making chunks", false, 0.09, 0.09},
                 {"steps[0] map", false, 0.91, 0.12}};
  input.readers = {Waiting(1)};
  input.readers[0].elements = 5000;
  input.readers[0].head_worker = "tcp://w1:1";
  input.readers[0].longest_wait_s = 2.4;
  // The head has just changed, or is at such a record.
  for (const double head_s : {0.1, 1.5}) {
    input.readers[0].head_s = head_s;
    const Verdict verdict = Judge(input);
    EXPECT_EQ(verdict.bound_by, BoundBy::kWorkers);
    EXPECT_EQ(verdict.where, "tcp://w1:1");
    EXPECT_THAT(verdict.sentence, HasSubstr("costliest records"));
  }
  // The workers are free at times.
  for (VerdictInput::Worker& worker : input.workers) worker.busy = 0.43;
  EXPECT_EQ(Judge(input).where, "tcp://w1:1");
  for (VerdictInput::Worker& worker : input.workers) worker.busy = 0.85;

  // The read has just begun.
  input.readers[0].elements = 0;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
  for (VerdictInput::Worker& worker : input.workers) {
    worker.waiting_for_credit = 1;
  }
  EXPECT_EQ(Judge(input).where, "tcp://w1:1");
  for (VerdictInput::Worker& worker : input.workers) {
    worker.waiting_for_credit = 0.6;
  }

  // Each element takes 2 s.
  input.readers[0].elements = 7;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
  // Each worker waits for its own files, and has made no later elements.
  input.readers[0].elements = 5000;
  for (VerdictInput::Worker& worker : input.workers) {
    worker.waiting_for_credit = 0;
  }
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
}

TEST(Verdict, NamesMemoryThatIsFull) {
  VerdictInput input = Busy();
  for (VerdictInput::Worker& worker : input.workers) {
    worker.busy = 0.2;
    worker.waiting_for_memory = 3;
  }
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kWorkers);
  EXPECT_EQ(verdict.where, "memory");
  EXPECT_THAT(verdict.sentence, HasSubstr("--memory"));
}

TEST(Verdict, NamesASlowLink) {
  VerdictInput input = Busy();
  for (VerdictInput::Worker& worker : input.workers) {
    worker.busy = 0.1;
    worker.waiting_for_credit = 3;
  }
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kLink);
}

// A rank with a fast link keeps one of the worker's two threads busy.
TEST(Verdict, NamesTheSlowLinkOfARankThatAnotherRankOutpaces) {
  VerdictInput input = Busy();
  input.readers = {Waiting(1, "0/2"), Waiting(0.99, "1/2")};
  input.readers[1].elements = 100'000;
  for (const double busy : {0.49, 0.51, 0.95}) {
    input.workers = {Worker(busy, 1.8)};
    input.workers[0].waiting_for_credit = 0.5;
    const Verdict verdict = Judge(input);
    EXPECT_EQ(verdict.bound_by, BoundBy::kLink) << busy;
    EXPECT_EQ(verdict.where, "0/2");
  }
  // Both ranks are as fast: the step is the bound.
  input.readers[1].elements = input.readers[0].elements;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
}

// Ranks that share a worker, and one has a slow network. Other processes use
// the machine, so that the worker's short tasks wait for a core most of the
// time.
TEST(Verdict, NamesASlowLinkOfAWorkerThatWaitsForACore) {
  VerdictInput input = Busy();
  input.readers = {Waiting(1, "0/2"), Waiting(1, "1/2")};
  input.workers = {Worker(0.67, 2)};
  input.workers[0].threads = 1;
  input.workers[0].waiting_for_credit = 1.2;
  input.workers[0].worked = 0.01;
  input.steps = {{"range", true, 0.29, 0.29},
                 {"making chunks", false, 0.69, 0.66}};
  // The slow network takes the next split in lumps.
  input.workers[0].progress = 0.4;
  input.readers[0].head_worker = input.workers[0].name;
  input.readers[0].head_s = 0.7;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kLink);
  input.workers[0].worked = 0.6;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
  // Its tasks have not ended yet.
  input.workers[0].worked = 0;
  input.workers[0].progress = 0.2;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kStep);
}

TEST(Verdict, NamesASlowConsumer) {
  VerdictInput input = Busy();
  input.readers = {Waiting(0.02)};
  for (VerdictInput::Worker& worker : input.workers) {
    worker.busy = 0.1;
    worker.waiting_for_credit = 3;
  }
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kConsumer);
  EXPECT_THAT(verdict.sentence, HasSubstr("bound by the trainer"));
}

TEST(Verdict, NamesAPausedReader) {
  VerdictInput input = Busy();
  input.readers = {Waiting(0)};
  input.readers[0].elements = 0;
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kConsumer);
  EXPECT_THAT(verdict.sentence, HasSubstr("asked for nothing"));
}

TEST(Verdict, NamesTheOneSlowRank) {
  VerdictInput input = Busy();
  input.readers = {Waiting(0.05, "0/2"), Waiting(0.01, "1/2")};
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kConsumer);
  EXPECT_EQ(verdict.where, "1/2");
}

TEST(Verdict, NamesTheRankThatWaitsMost) {
  VerdictInput input = Busy();
  input.readers = {Waiting(0.05, "0/2"), Waiting(0.6, "1/2")};
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kStep);
  EXPECT_THAT(verdict.sentence, StartsWith("reader 1/2 waits"));
}

TEST(Verdict, NamesTheStepsOfTheClient) {
  VerdictInput input = Busy();
  input.readers = {Waiting(0.05)};
  input.readers[0].stage_s = 4;
  const Verdict verdict = Judge(input);
  EXPECT_EQ(verdict.bound_by, BoundBy::kClientStage);
  EXPECT_NEAR(verdict.gain, 5, 0.01);
}

TEST(Verdict, NamesTheDispatcher) {
  VerdictInput input = Busy();
  input.workers = {Worker(0.1, 0)};
  input.dispatcher_busy = 0.97;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kDispatcher);
}

TEST(Verdict, SaysWhatAJobWaitsFor) {
  VerdictInput input;
  input.waits_for = "rank 1 of 2";
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kConsumer);
  EXPECT_EQ(Judge(input).where, "rank 1 of 2");
  input.waits_for = "a worker";
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kWorkers);
  input.waits_for = "a reader";
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kNone);
  input.waits_for = "";
  input.planned = false;
  EXPECT_EQ(Judge(input).bound_by, BoundBy::kSource);
}

TEST(Verdict, IsNoneIfNoReaderReads) {
  EXPECT_EQ(Judge(VerdictInput()).bound_by, BoundBy::kNone);
  VerdictInput over = Busy();
  over.over = true;
  EXPECT_EQ(Judge(over).bound_by, BoundBy::kNone);
  EXPECT_EQ(Judge(over).sentence, "the job is over");
}

// ---- inputs of verdicts

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

ReaderLoad ReadFor(int64_t seconds, int64_t waited) {
  ReaderLoad load;
  load.elapsed = absl::Seconds(seconds);
  load.waited = absl::Seconds(waited);
  load.elements = static_cast<uint64_t>(100 * seconds);
  return load;
}

TEST(ReaderWindow, IsOfTheLastSeconds) {
  ReaderWindow window;
  EXPECT_FALSE(window.Recent(kNow).has_value());
  for (int64_t second = 0; second <= 20; ++second) {
    // After the tenth second it only waits.
    window.Add(kNow + absl::Seconds(second),
               ReadFor(second, std::max<int64_t>(0, second - 10)));
  }
  const auto recent = window.Recent(kNow + absl::Seconds(20));
  ASSERT_TRUE(recent.has_value());
  EXPECT_EQ(recent->elapsed, absl::Seconds(5));
  EXPECT_EQ(recent->waited, absl::Seconds(5));
  EXPECT_EQ(recent->elements, 500u);
  EXPECT_FALSE(window.Recent(kNow + absl::Seconds(30)).has_value());
}

TEST(ReaderWindow, TellsTheLongestWaitForOneElement) {
  ReaderWindow window;
  EXPECT_EQ(window.LongestWait(), absl::ZeroDuration());
  ReaderLoad load;
  const auto report = [&](int64_t elapsed_ms, int64_t waited_ms,
                          uint64_t elements) {
    load.elapsed = absl::Milliseconds(elapsed_ms);
    load.waited = absl::Milliseconds(waited_ms);
    load.elements = elements;
    window.Add(kNow + load.elapsed, load);
  };
  report(0, 0, 100);
  report(500, 500, 100);
  report(1000, 1000, 600);
  report(2000, 1200, 600);  // 0.8 s were the trainer's own
  report(2500, 1300, 700);
  EXPECT_EQ(window.LongestWait(), absl::Seconds(1));
  report(4500, 3200, 700);
  EXPECT_EQ(window.LongestWait(), absl::Milliseconds(1900));
}

TEST(ReaderWindow, BeginsAgainWithAnotherLifeOfTheReader) {
  ReaderWindow window;
  window.Add(kNow, ReadFor(100, 50));
  window.Add(kNow + absl::Seconds(1), ReadFor(1, 0));
  window.Add(kNow + absl::Seconds(2), ReadFor(2, 1));
  EXPECT_EQ(window.Recent(kNow + absl::Seconds(2))->waited, absl::Seconds(1));
}

WorkerLoad LoadOf(absl::Duration busy, uint32_t tasks) {
  WorkerLoad load;
  load.threads = 2;
  load.busy = busy;
  load.tasks = tasks;
  load.plans = {{PlanId("p"), 4, 2, 1, 0, 0, 0, {{1, 2'000'000'000}}}};
  return load;
}

TEST(WorkerWindow, IsThePartOfTheThreadsThatHasWork) {
  WorkerWindow window;
  EXPECT_EQ(window.Busy(kNow), 0);
  window.Add(kNow, LoadOf(absl::ZeroDuration(), 0));
  window.Add(kNow + absl::Seconds(2), LoadOf(absl::Seconds(1), 0));
  EXPECT_NEAR(window.Busy(kNow + absl::Seconds(2)), 0.25, 1e-9);
  EXPECT_NEAR(window.Worked(), 0.25, 1e-9);
  const auto plans = window.Plans(kNow + absl::Seconds(2));
  ASSERT_EQ(plans.size(), 1u);
  const PlanUse& use = plans.at(PlanId("p"));
  EXPECT_NEAR(use.streams, 4, 1e-9);
  EXPECT_NEAR(use.waiting_for_credit, 2, 1e-9);
  EXPECT_NEAR(use.step_seconds, 4, 1e-9);
  EXPECT_FALSE(use.speed.has_value());  // too little work to measure
}

TEST(WorkerWindow, CountsTasksThatTakeLongerThanIt) {
  WorkerWindow window;
  for (int64_t second = 0; second <= 10; ++second) {
    window.Add(kNow + absl::Seconds(second), LoadOf(absl::ZeroDuration(), 2));
  }
  EXPECT_NEAR(window.Busy(kNow + absl::Seconds(10)), 1, 1e-9);
  EXPECT_EQ(window.Worked(), 0);
}

TEST(WorkerWindow, TellsHowFastAThreadIs) {
  WorkerWindow window;
  EXPECT_TRUE(window.Plans(kNow).empty());
  for (int64_t second = 0; second <= 4; ++second) {
    WorkerLoad load = LoadOf(absl::Seconds(second), 1);  // one thread of two
    load.plans[0].elements = static_cast<uint64_t>(30 * second);
    window.Add(kNow + absl::Seconds(second), load);
  }
  const absl::Time end = kNow + absl::Seconds(4);
  EXPECT_NEAR(window.Plans(end).at(PlanId("p")).speed.value_or(0), 30, 1e-9);
  EXPECT_NEAR(window.Plans(end).at(PlanId("p")).progress, 1, 1e-9);
  EXPECT_TRUE(window.Plans(end + absl::Seconds(9)).empty());
}

TEST(WorkerWindow, PlansShareTheTimeOfTheThreads) {
  WorkerWindow window;
  for (int64_t second = 0; second <= 4; ++second) {
    WorkerLoad load = LoadOf(absl::Seconds(second), 1);  // one thread of two
    PlanLoad other = load.plans[0];
    other.plan = PlanId("q");
    other.steps = {{1, 6'000'000'000}};
    PlanLoad little = load.plans[0];
    little.plan = PlanId("r");
    little.steps = {{1, 1'000'000}};
    load.plans.push_back(other);
    load.plans.push_back(little);
    for (PlanLoad& plan : load.plans) {
      plan.elements = static_cast<uint64_t>(30 * second);
    }
    window.Add(kNow + absl::Seconds(second), load);
  }
  const auto plans = window.Plans(kNow + absl::Seconds(4));
  // A quarter of a thread, and three quarters.
  EXPECT_NEAR(plans.at(PlanId("p")).speed.value_or(0), 120, 0.1);
  EXPECT_NEAR(plans.at(PlanId("q")).speed.value_or(0), 40, 0.1);
  EXPECT_FALSE(plans.at(PlanId("r")).speed.has_value());
}

TEST(WorkerWindow, TellsHowOftenElementsCome) {
  WorkerWindow window;
  for (int64_t second = 0; second <= 4; ++second) {
    WorkerLoad load = LoadOf(absl::Seconds(second), 1);
    load.plans[0].elements = second < 3 ? 0 : 120;
    window.Add(kNow + absl::Seconds(second), load);
  }
  const PlanUse use = window.Plans(kNow + absl::Seconds(4)).at(PlanId("p"));
  EXPECT_NEAR(use.speed.value_or(0), 30, 1e-9);
  EXPECT_NEAR(use.progress, 1.0 / 4, 1e-9);
}

TEST(StepUse, ForgetsWhatIsLongAgo) {
  StepUse use;
  use.Add(kNow, {4, 1'000});
  use.Add(kNow + absl::Seconds(6), {4, 100});
  EXPECT_EQ(use.steps().at(4).wall_ns, 600u);
  EXPECT_EQ(use.totals().at(4).wall_ns, 1'100u);
}

// ---- the speeds that the page and `feedmill top` show

VerdictInput::Worker WithSpeed(std::string name, double speed, double share = 1,
                               double progress = 1) {
  VerdictInput::Worker worker = Worker(1, 4, std::move(name));
  worker.speed = speed;
  worker.share = share;
  worker.progress = progress;
  return worker;
}

TEST(FleetUseTest, SpeedsAreRelativeToTheTypicalWorker) {
  FleetUse fleet;
  fleet.by_plan[PlanId("train")] = {WithSpeed("a", 100), WithSpeed("b", 10),
                                    WithSpeed("c", 200), WithSpeed("d", -1)};
  EXPECT_THAT(fleet.RelativeSpeeds(),
              ElementsAre(Pair("a", 1), Pair("b", 0.1), Pair("c", 2)));
}

// A small job has too few splits for all workers.
TEST(FleetUseTest, AWorkerWithoutASplitOfASmallJobIsNotSlow) {
  FleetUse fleet;
  fleet.by_plan[PlanId("train")] = {WithSpeed("a", 100), WithSpeed("b", 100),
                                    WithSpeed("c", 110)};
  fleet.by_plan[PlanId("small")] = {
      WithSpeed("a", 50, 0.2), WithSpeed("b", 60, 0.2), WithSpeed("c", -1, 0)};
  EXPECT_GE(fleet.RelativeSpeeds().at("c"), 1);
  fleet.by_plan[PlanId("small")] = {WithSpeed("a", 50, 1, 0.3),
                                    WithSpeed("b", 60, 1, 0.3),
                                    WithSpeed("c", 0, 1, 0)};
  EXPECT_GE(fleet.RelativeSpeeds().at("c"), 1);
}

}  // namespace
}  // namespace feedmill
