#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "tests/unit/worker/agent_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(WorkerAgentTest, SendsASplitInOrder) {
  const Lease lease = LeaseOf(1, 0, 50);
  GivenLeases({lease});
  Give(GrantOf(lease, 10'000, true));
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(0, 50));
  EXPECT_EQ(agent_.buffered_bytes(), 0);
}

TEST_F(WorkerAgentTest, PutsResultsInOrder) {
  const Lease lease = LeaseOf(1, 0, 2);
  GivenLeases({lease});
  Give(GrantOf(lease, 10'000));
  ASSERT_THAT(tasks_, SizeIs(2));
  ComputeTask(1);
  EXPECT_THAT(frames_, IsEmpty());
  ComputeTask(0);
  EXPECT_EQ(Values(), Numbers(0, 2));
}

TEST_F(WorkerAgentTest, RequestsGrowToAFrame) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Give(GrantOf(lease, 10'000));
  EXPECT_EQ(tasks_[0].end, (Cursor{1, 0}));
  Compute();
  uint64_t most = 0;
  for (int i = 0; i < 100 && !tasks_.empty(); ++i) {
    most = std::max(most, tasks_[0].end.p - tasks_[0].begin.p);
    Compute();
  }
  EXPECT_EQ(most, 10);
  EXPECT_EQ(Values(), Numbers(0, 100));
}

TEST_F(WorkerAgentTest, AsksAgainForWhatAStageStoppedBefore) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Give(GrantOf(lease, 10'000));
  Compute();
  Compute();  // tasks of four positions now
  ASSERT_THAT(tasks_, SizeIs(2));
  const Cursor begin = tasks_[0].begin;
  ASSERT_EQ(tasks_[0].end.p, begin.p + 4);
  Compute(begin.p + 1);
  ASSERT_THAT(tasks_, SizeIs(2));
  EXPECT_EQ(tasks_[1].begin.p, begin.p + 1);
  EXPECT_EQ(tasks_[1].end.p, begin.p + 4);
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(0, 100));
}

TEST_F(WorkerAgentTest, KeepsTwoTasksAThread) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease, LeaseOf(2, 100, 200)});
  Give(GrantOf(lease, 10'000, true));
  Give(GrantOf(LeaseOf(2, 100, 200), 10'000));
  EXPECT_THAT(tasks_, SizeIs(2));
  Compute();
  EXPECT_THAT(tasks_, SizeIs(2));
}

// ---- rule 5
TEST_F(WorkerAgentTest, IgnoresGrantsThatAreNotItsLeases) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Grant wrong = GrantOf(lease, 1000);
  wrong.worker_incarnation = Incarnation{6};
  Give(wrong);
  wrong = GrantOf(lease, 1000);
  wrong.session.incarnation = Incarnation{4};
  Give(wrong);
  wrong = GrantOf(lease, 1000);
  wrong.attempt = Attempt{0};
  Give(wrong);
  wrong = GrantOf(lease, 1000);
  wrong.start = {11, 0};
  Give(wrong);
  EXPECT_THAT(tasks_, IsEmpty());
  Give(GrantOf(lease, 1000));
  EXPECT_THAT(tasks_, SizeIs(2));
}

TEST_F(WorkerAgentTest, IgnoresAnswersToAnotherIncarnation) {
  WorkerAnswer answer;
  answer.incarnation = Incarnation{6};
  answer.leases = {LeaseOf(1, 0, 10)};
  agent_.Handle(now_, kDispatcherPeer, answer);
  EXPECT_EQ(agent_.lease_count(), 0);
}

TEST_F(WorkerAgentTest, AGrantAheadOfItsLeaseIsKept) {
  const Lease lease = LeaseOf(1, 0, 10);
  Give(GrantOf(lease, 1000, true));
  GivenLeases({lease});
  EXPECT_THAT(tasks_, SizeIs(2));
}

TEST_F(WorkerAgentTest, ARanksLeaseIsComputedForItsShare) {
  Lease lease = LeaseOf(1, 0, 10);
  lease.share = {1, 3};
  GivenLeases({lease});
  Give(GrantOf(lease, 1000, true));
  ASSERT_FALSE(tasks_.empty());
  EXPECT_EQ(tasks_[0].share, (Share{1, 3}));
}

// ---- rule 12
TEST_F(WorkerAgentTest, TotalsAreAbsolute) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 8));
  Give(GrantOf(lease, 8));
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(0, 1));
  Give(GrantOf(lease, 4));  // late: less than before
  Give(GrantOf(lease, 16));
  EXPECT_EQ(Values(), Numbers(1, 2));
}

TEST_F(WorkerAgentTest, AHigherOpeningSendsAgainFromItsStart) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1000));
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(0, 10));
  Grant again = GrantOf(lease, 1000, false, 3);
  again.start = {4, 0};
  Give(again);
  Grant lower = GrantOf(lease, 1000, false, 2);
  Give(lower);
  ComputeAll();
  ASSERT_FALSE(frames_.empty());
  EXPECT_EQ(frames_[0].opening, Opening{3});
  EXPECT_EQ(Values(), Numbers(4, 10));
}

TEST_F(WorkerAgentTest, AnOpeningKeepsComputedWork) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 0));
  ComputeAll();  // all of it; nothing may be sent
  EXPECT_EQ(agent_.buffered_bytes(), 80);
  Grant again = GrantOf(lease, 1000, false, 2);
  again.start = {3, 0};  // inside a piece
  Give(again);
  EXPECT_THAT(tasks_, IsEmpty());
  EXPECT_EQ(Values(), Numbers(3, 10));
  again = GrantOf(lease, 1000, false, 3);
  Give(again);
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(0, 10));
}

TEST_F(WorkerAgentTest, AnOpeningWhileTasksRunCutsTheirResults) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Give(GrantOf(lease, 10'000));
  Compute();
  Compute();
  ASSERT_EQ(tasks_[0].end.p - tasks_[0].begin.p, 4);
  frames_.clear();
  Grant again = GrantOf(lease, 10'000, false, 2);
  again.start = {tasks_[0].begin.p + 2, 0};
  Give(again);
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(static_cast<int64_t>(again.start.p), 100));
}

TEST_F(WorkerAgentTest, ResultsOfDroppedLeasesAreDiscarded) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1000));
  ASSERT_THAT(tasks_, SizeIs(2));
  Answer({});
  Lease second = lease;
  second.attempt = Attempt{2};
  Answer({second});
  Give(GrantOf(second, 1000));
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(0, 10));
  EXPECT_EQ(agent_.buffered_bytes(), 0);
}

TEST_F(WorkerAgentTest, TasksThatNoStreamWaitsForAreStopped) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1000));
  ASSERT_THAT(tasks_, SizeIs(2));
  const TaskId first = tasks_[0].task;
  const TaskId second = tasks_[1].task;
  EXPECT_THAT(Answer({lease}).stop, IsEmpty());
  Lease again = lease;  // the attempt was lost
  again.attempt = Attempt{2};
  EXPECT_THAT(Answer({again}).stop, ElementsAre(first, second));
  EXPECT_THAT(Answer({}).stop, IsEmpty());
  for (const TaskId task : {first, second}) {
    Keep(agent_.OnComputed(now_, task, absl::CancelledError("stopped"),
                           TaskCost{absl::Microseconds(1)}));
  }
  EXPECT_THAT(frames_, IsEmpty());
  EXPECT_THAT(Beat().failures, IsEmpty());
}

TEST_F(WorkerAgentTest, AStreamWithoutGrantsIsParked) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Give(GrantOf(lease, 10'000));
  now_ += absl::Milliseconds(1001);
  Compute();
  Compute();
  EXPECT_THAT(tasks_, IsEmpty());
  Give(GrantOf(lease, 10'000));
  EXPECT_THAT(tasks_, SizeIs(2));
}

// ---- rules 13 and 14
TEST_F(WorkerAgentTest, PiecesWithoutElementsCostNoCredit) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 0));
  while (!tasks_.empty()) Compute(0, NoRow);
  ASSERT_FALSE(frames_.empty());
  EXPECT_EQ(frames_.back().piece.end, lease.end);
  EXPECT_THAT(Values(), IsEmpty());
}

TEST_F(WorkerAgentTest, OnlyAHeadOverdrawsAndByOnePiece) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1));
  ComputeAll();
  EXPECT_THAT(Values(), IsEmpty());
  Give(GrantOf(lease, 1, true));
  EXPECT_EQ(Values(), Numbers(0, 1));
  Give(GrantOf(lease, 8, true));
  EXPECT_THAT(Values(), IsEmpty());
  Give(GrantOf(lease, 9, true));
  EXPECT_THAT(Values(), SizeIs(::testing::Gt(0)));
}

TEST_F(WorkerAgentTest, CheapPiecesAreNotMadeAheadOfTheirCredit) {
  const Lease lease = LeaseOf(1, 0, 1000);
  GivenLeases({lease});
  for (uint64_t total = 800; total <= 8000; total += 800) {
    Give(GrantOf(lease, total));
    ComputeAllInNoTime();
    EXPECT_LE(agent_.buffered_bytes(), 160u);  // one frame, held back
  }
  EXPECT_THAT(Values(), SizeIs(::testing::Gt(900)));
}

TEST_F(WorkerAgentTest, CheapLargePiecesAreCutToFitTheCache) {
  const Lease lease = LeaseOf(1, 0, 1000);
  GivenLeases({lease});
  Give(GrantOf(lease, 80'000));
  const RowsAt large = [](uint64_t) { return uint64_t{5}; };  // 40 bytes
  ASSERT_THAT(tasks_, SizeIs(2));
  ComputeInNoTime(large);
  ComputeInNoTime(large);
  ASSERT_THAT(tasks_, SizeIs(1));
  EXPECT_EQ(tasks_.back().bytes_target, 240u);
  agent_.ReadInPlace(true);
  ComputeInNoTime(large);
  EXPECT_EQ(tasks_.back().bytes_target, 320u);
}

TEST_F(WorkerAgentTest, LostCheapPiecesAreMadeAgainBeforeReadyPieces) {
  const Lease lease = LeaseOf(1, 0, 1000);
  GivenLeases({lease});
  Give(GrantOf(lease, 800));
  ComputeAllInNoTime();
  const std::vector<int64_t> sent = Values();
  ASSERT_GE(agent_.buffered_bytes(), 160u);  // as much as may be sent
  Give(GrantOf(lease, 160, false, 2));
  ComputeAllInNoTime();
  const std::vector<int64_t> again = Values();
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again[0], sent[0]);
}

TEST_F(WorkerAgentTest, CheapPiecesAreMadeAtOnce) {
  const Lease lease = LeaseOf(1, 0, 100'000);
  GivenLeases({lease});
  Give(GrantOf(lease, 10'000));
  EXPECT_FALSE(tasks_.at(0).at_once);  // nothing is measured yet
  ComputeAllInNoTime();
  Give(GrantOf(lease, 20'000));
  EXPECT_TRUE(tasks_.at(0).at_once);
}

TEST_F(WorkerAgentTest, PiecesThatOutlastAWakeUpAreNotMadeAtOnce) {
  const Lease lease = LeaseOf(1, 0, 100'000);
  GivenLeases({lease});
  for (uint64_t total = 1'000; total < 10'000; total += 1'000) {
    Give(GrantOf(lease, total));
    for (const ComputeRequest& task : tasks_) EXPECT_FALSE(task.at_once);
    ComputeAll();
  }
}

// ---- rule 17
TEST_F(WorkerAgentTest, ServesHeadsFirstThenLowPositions) {
  const Lease low = LeaseOf(1, 0, 100);
  const Lease head = LeaseOf(2, 100, 200);
  GivenLeases({low, head});
  Give(GrantOf(low, 10'000));
  Give(GrantOf(head, 10'000, true));
  Compute();
  Compute();
  for (const ComputeRequest& task : tasks_) EXPECT_GE(task.begin.p, 100);
  while (!tasks_.empty() && tasks_[0].begin.p >= 100) Compute();
  EXPECT_THAT(tasks_, SizeIs(2));
}

// A plan whose tasks wait for other workers.
class TasksBeside : public WorkerAgentTest {
 protected:
  void SetUp() override {
    Answer({pass_});
    Keep(agent_.OnDefined(now_, kPlan, absl::OkStatus(), {}));
    Give(GrantOf(pass_, 10'000, true));
    EXPECT_FALSE(tasks_[0].beside);
    End(/*beside=*/true);
  }
  // Ends the oldest task.
  WorkerEffects End(bool beside) {
    const ComputeRequest task = TakeTask(0);
    TaskCost cost{absl::Microseconds(1)};
    cost.beside = beside;
    return Keep(agent_.OnComputed(
        now_, task.task, MakePiece(task.begin, task.end, OneRow), cost));
  }

  const Lease pass_ = LeaseOf(1, 0, 100);
};

TEST_F(TasksBeside, TakeNoThreadAndAllowAnotherLease) {
  EXPECT_EQ(Beat().slots, Settings().slots + 1);
  Lease other = LeaseOf(2, 100, 200);
  other.plan = PlanId{"other"};
  WorkerAnswer answer;
  answer.incarnation = Incarnation{7};
  answer.leases = {pass_, other};
  answer.definitions.push_back(PlanDefinition{other.plan, "graph", "", 0, 0});
  Keep(agent_.Handle(now_, kDispatcherPeer, answer));
  Keep(agent_.OnDefined(now_, other.plan, absl::OkStatus(), {}));
  Give(GrantOf(other, 10'000, true));
  size_t of_other = 0;
  size_t beside = 0;
  for (const ComputeRequest& task : tasks_) {
    of_other += task.plan == other.plan;
    beside += task.beside;
    EXPECT_LE(task.beside, task.plan == kPlan && !task.at_once);
  }
  EXPECT_GE(beside, 1U);
  EXPECT_GE(of_other, 1U);
}

TEST_F(TasksBeside, RestWithoutALease) {
  EXPECT_THAT(Answer({pass_}).rest, IsEmpty());
  EXPECT_THAT(Answer({}).rest, ElementsAre(kPlan));
  EXPECT_THAT(Answer({}).rest, IsEmpty());
  // A task that ended too late may have begun to read ahead again.
  End(/*beside=*/true);
  EXPECT_THAT(Answer({}).rest, ElementsAre(kPlan));
}

TEST_F(WorkerAgentTest, AHeadTakesTheMemoryOfStreamsThatCannotSend) {
  const Lease blocked = LeaseOf(1, 100, 200);
  const Lease head = LeaseOf(2, 0, 100);
  GivenLeases({blocked, head});
  Give(GrantOf(blocked, 0));
  ComputeAll();
  EXPECT_GT(agent_.buffered_bytes(), 240);
  EXPECT_LE(agent_.buffered_bytes(), 400);
  Give(GrantOf(head, 10'000, true));
  ComputeAll();
  EXPECT_EQ(Values(), Numbers(0, 100));
  EXPECT_LE(agent_.buffered_bytes(), 400);
  Give(GrantOf(blocked, 10'000));
  ComputeAll();  // dropped pieces are computed again
  EXPECT_EQ(Values(), Numbers(100, 200));
}

TEST_F(WorkerAgentTest, AHeadOverdrawsMemoryByOnePosition) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  const auto big = [](uint64_t) { return uint64_t{100}; };  // 800 bytes
  Give(GrantOf(lease, 1, true));
  Compute(0, big);
  while (!tasks_.empty()) Compute(0, big);
  uint64_t total = 1;
  for (int i = 0; i < 20; ++i) {
    total += 800;
    Give(GrantOf(lease, total, true));
    while (!tasks_.empty()) {
      Compute(0, big);
      EXPECT_LE(agent_.buffered_bytes(), 400 + 2 * 800);
    }
  }
  EXPECT_EQ(frames_.back().piece.end, lease.end);
}

// ---- errors
TEST_F(WorkerAgentTest, ADataErrorEndsTheStream) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1000));
  const ComputeRequest second = TakeTask(1);
  const ComputeRequest first = TakeTask(0);
  Piece bad = MakePiece(second.begin, second.begin);
  bad.error = DataLoss("photo 1 is broken");
  Keep(agent_.OnComputed(now_, second.task, bad, TaskCost{}));
  Keep(agent_.OnComputed(now_, first.task, MakePiece(0, 1), TaskCost{}));
  EXPECT_THAT(tasks_, IsEmpty());
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_EQ(frames_[1].piece.error.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Beat().failures, IsEmpty());
  Grant again = GrantOf(lease, 1000, false, 2);  // the frame was lost
  again.start = second.begin;
  Give(again);
  EXPECT_EQ(tasks_.at(0).begin, second.begin);
}

TEST_F(WorkerAgentTest, AFailureIsReportedUntilTheLeaseIsGone) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1000));
  Beat();
  const ComputeRequest task = TakeTask(0);
  Keep(agent_.OnComputed(now_, task.task, Unavailable("disk"), TaskCost{}));
  EXPECT_LE(agent_.NextDeadline(), now_ + absl::Milliseconds(1));
  EXPECT_THAT(Beat().failures, SizeIs(1));
  EXPECT_THAT(Beat().failures, SizeIs(1));
  Answer({});
  EXPECT_THAT(Beat().failures, IsEmpty());
}

TEST_F(WorkerAgentTest, AnUnsoundResultFailsItsLease) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1000));
  const ComputeRequest task = TakeTask(0);
  Keep(agent_.OnComputed(now_, task.task, MakePiece(0, 5), TaskCost{}));
  EXPECT_THAT(Beat().failures, SizeIs(1));
}

// ---- plans and manifests
TEST_F(WorkerAgentTest, LeasesWaitForTheirPlan) {
  const Lease lease = LeaseOf(1, 0, 10);
  EXPECT_THAT(Answer({lease}).define, SizeIs(1));
  Give(GrantOf(lease, 1000));
  EXPECT_THAT(tasks_, IsEmpty());
  Keep(agent_.OnDefined(now_, kPlan, absl::OkStatus()));
  EXPECT_THAT(tasks_, SizeIs(2));
  EXPECT_THAT(Beat().plans, ElementsAre(kPlan));
}

TEST_F(WorkerAgentTest, ABadPlanFailsItsLeases) {
  const Lease lease = LeaseOf(1, 0, 10);
  Answer({lease});
  Keep(agent_.OnDefined(now_, kPlan, NotFound("no such function")));
  const WorkerBeat beat = Beat();
  ASSERT_THAT(beat.failures, SizeIs(1));
  EXPECT_EQ(beat.failures[0].status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(beat.plans, IsEmpty());
  EXPECT_THAT(Answer({}).forget, ElementsAre(kPlan));
}

TEST_F(WorkerAgentTest, ForgetsUnneededPlans) {
  size_t forgotten = 0;
  for (int i = 0; i < 40; ++i) {
    WorkerAnswer answer;
    answer.incarnation = Incarnation{7};
    const PlanId plan{"plan" + std::to_string(i)};
    answer.definitions.push_back(PlanDefinition{plan, "graph", "", 0, 0});
    forgotten += agent_.Handle(now_, kDispatcherPeer, answer).forget.size();
    agent_.OnDefined(now_, plan, absl::OkStatus());
  }
  EXPECT_EQ(forgotten, 40 - 16 - 1);
  EXPECT_THAT(Beat().plans, SizeIs(17));
}

TEST_F(WorkerAgentTest, ResolvesAManifestOnceWhileItIsAskedFor) {
  WorkerAnswer answer;
  answer.incarnation = Incarnation{7};
  answer.manifests.push_back({"fp", "graph"});
  EXPECT_THAT(agent_.Handle(now_, kDispatcherPeer, answer).resolve, SizeIs(1));
  EXPECT_THAT(agent_.Handle(now_, kDispatcherPeer, answer).resolve, IsEmpty());
  EXPECT_THAT(Beat().manifests, IsEmpty());
  agent_.OnResolved(now_, {"fp", absl::OkStatus(), "files"});
  EXPECT_LE(agent_.NextDeadline(), now_ + absl::Milliseconds(1));
  EXPECT_THAT(Beat().manifests, SizeIs(1));
  EXPECT_THAT(Beat().manifests, SizeIs(1));
  answer.manifests.clear();
  agent_.Handle(now_, kDispatcherPeer, answer);
  EXPECT_THAT(Beat().manifests, IsEmpty());
}

TEST_F(WorkerAgentTest, AManifestThatIsNotAskedForIsStopped) {
  WorkerAnswer answer;
  answer.incarnation = Incarnation{7};
  answer.manifests.push_back({"fp", "graph"});
  EXPECT_THAT(agent_.Handle(now_, kDispatcherPeer, answer).resolve, SizeIs(1));
  answer.manifests.clear();
  EXPECT_THAT(agent_.Handle(now_, kDispatcherPeer, answer).stop_resolving,
              ElementsAre("fp"));
  EXPECT_THAT(agent_.Handle(now_, kDispatcherPeer, answer).stop_resolving,
              IsEmpty());
  // Asked again before it has ended: it begins again when it has.
  answer.manifests.push_back({"fp", "graph"});
  EXPECT_THAT(agent_.Handle(now_, kDispatcherPeer, answer).resolve, IsEmpty());
  agent_.OnResolved(now_, {"fp", absl::CancelledError("stopped"), ""});
  EXPECT_THAT(Beat().manifests, IsEmpty());
  EXPECT_THAT(agent_.Handle(now_, kDispatcherPeer, answer).resolve, SizeIs(1));
}

// ---- heartbeats
TEST_F(WorkerAgentTest, ReportsWhatWorkCost) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1000));
  Beat();
  Compute();
  EXPECT_LE(agent_.NextDeadline(), now_ + absl::Milliseconds(1));
  ComputeAll();
  const WorkerBeat beat = Beat();
  ASSERT_THAT(beat.costs, SizeIs(1));
  EXPECT_EQ(beat.costs[0].positions, 10);
  EXPECT_EQ(beat.costs[0].bytes, 80);
  ASSERT_THAT(beat.leases, SizeIs(1));
  EXPECT_THAT(Beat().costs, IsEmpty());
  // Costs of later splits are not urgent.
  const Lease second = LeaseOf(2, 10, 20);
  GivenLeases({lease, second});
  Give(GrantOf(second, 1000));
  Beat();
  ComputeAll();
  EXPECT_GT(agent_.NextDeadline(), now_ + absl::Milliseconds(1));
  EXPECT_LE(agent_.NextDeadline(), now_ + absl::Milliseconds(20));
  EXPECT_THAT(Beat().costs, SizeIs(1));
}

TEST_F(WorkerAgentTest, SendsHeartbeatsAtTheAnnouncedInterval) {
  Answer({});
  Beat();
  EXPECT_EQ(agent_.NextDeadline(), now_ + absl::Milliseconds(200));
}

TEST_F(WorkerAgentTest, DrainsWhenTheDispatcherSaysSo) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  EXPECT_FALSE(agent_.Drain(now_).drained);
  EXPECT_TRUE(Beat().draining);
  WorkerAnswer answer;
  answer.incarnation = Incarnation{7};
  answer.drained = true;
  EXPECT_TRUE(agent_.Handle(now_, kDispatcherPeer, answer).drained);
}

TEST_F(WorkerAgentTest, DrainsWithoutADispatcherWhenNoReaderWaits) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1'000'000));
  agent_.Drain(now_);
  const auto drains_within = [&](absl::Duration time) {
    const absl::Time end = now_ + time;
    while (now_ < end) {
      now_ += absl::Milliseconds(200);
      if (agent_.OnTick(now_).drained) return true;
    }
    return false;
  };
  EXPECT_FALSE(drains_within(absl::Milliseconds(900)));
  Give(GrantOf(lease, 1'000'000));  // a reader waits
  EXPECT_FALSE(drains_within(absl::Milliseconds(900)));
  EXPECT_TRUE(drains_within(absl::Milliseconds(500)));
}

TEST(WorkerAgentPython, SaysItsInterpreterUntilTheDispatcherKnowsIt) {
  absl::Time now = absl::UnixEpoch() + absl::Seconds(100);
  WorkerAgentSettings settings;
  settings.worker = WorkerId{"tcp://10.0.0.1:1"};
  settings.incarnation = Incarnation{3};
  settings.python = PythonInterpreter{"/p", "3.11.2", {"numpy==2.1.0"}};
  WorkerAgent agent{settings};
  const auto beat = [&] {
    now = std::max(now, agent.NextDeadline());
    return Sent<WorkerBeat>(agent.OnTick(now).sends).at(0);
  };
  const auto answer = [&](bool known) {
    WorkerAnswer message;
    message.incarnation = Incarnation{3};
    message.heartbeat_interval = absl::Seconds(5);
    message.python_known = known;
    agent.Handle(now, kDispatcherPeer, message);
  };
  EXPECT_EQ(beat().python, settings.python);
  EXPECT_EQ(beat().python, settings.python);  // the first one may be lost
  answer(true);
  EXPECT_FALSE(beat().python.has_value());
  EXPECT_TRUE(beat().allows_python);
  answer(true);
  const absl::Time before = now;
  answer(false);  // another dispatcher, which gets it at once
  EXPECT_EQ(beat().python, settings.python);
  EXPECT_LT(now - before, absl::Milliseconds(100));
  answer(true);
  agent.TakeName(now, WorkerId{"tcp://10.0.0.1:2"}, Incarnation{4});
  EXPECT_EQ(beat().python, settings.python);
}

TEST(WorkerAgentName, NoHeartbeatIsSentBeforeTheWorkerHasAName) {
  const absl::Time now = absl::UnixEpoch() + absl::Seconds(100);
  WorkerAgent agent{WorkerAgentSettings{}};
  EXPECT_EQ(agent.NextDeadline(), absl::InfiniteFuture());
  EXPECT_THAT(agent.OnTick(now).sends, ::testing::IsEmpty());
  agent.TakeName(now, WorkerId{"tcp://10.0.0.1:1"}, Incarnation{3});
  EXPECT_LE(agent.NextDeadline(), now);
  const auto beats = Sent<WorkerBeat>(agent.OnTick(now).sends);
  ASSERT_THAT(beats, ::testing::SizeIs(1));
  EXPECT_EQ(beats[0].worker, WorkerId{"tcp://10.0.0.1:1"});
  EXPECT_EQ(beats[0].incarnation, Incarnation{3});
}

TEST_F(WorkerAgentTest, AnotherNameMakesItAnotherWorkerWithoutLeases) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1'000'000));
  Keep(agent_.TakeName(now_, WorkerId{"tcp://w:2"}, Incarnation{8}));
  const WorkerBeat beat = Beat();
  EXPECT_EQ(beat.worker, WorkerId{"tcp://w:2"});
  EXPECT_EQ(beat.incarnation, Incarnation{8});
  EXPECT_THAT(beat.leases, ::testing::IsEmpty());
  ComputeAll();  // tasks of the former worker end, and nothing is sent
  EXPECT_THAT(frames_, ::testing::IsEmpty());
  EXPECT_EQ(agent_.buffered_bytes(), 0);
  Answer({lease});  // to the former worker
  EXPECT_EQ(agent_.lease_count(), 0);
}

TEST_F(WorkerAgentTest, DrainsAtOnceIfNoDispatcherKnewIt) {
  EXPECT_TRUE(agent_.Drain(now_).drained);
}

}  // namespace
}  // namespace feedmill::testing
