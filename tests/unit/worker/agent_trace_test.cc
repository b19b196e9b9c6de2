#include <algorithm>
#include <vector>

#include "tests/unit/worker/agent_vocabulary.h"

// The spans of a worker while a job is traced.

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AgentTraceTest : public WorkerAgentTest {
 protected:
  void GivenTraced(std::vector<Lease> leases) {
    for (Lease& lease : leases) lease.trace = 9;
    WorkerAnswer answer;
    answer.incarnation = Incarnation{7};
    answer.leases = std::move(leases);
    answer.tracing = TraceOrder{now_ - absl::Seconds(3), {9}};
    answer.definitions.push_back(PlanDefinition{kPlan, "graph", "", 0, 0});
    Keep(agent_.Handle(now_, kDispatcherPeer, answer));
    Keep(agent_.OnDefined(now_, kPlan, absl::OkStatus()));
  }
  // Ends the oldest task, which ran from 2 ms to 5 ms from now on.
  void ComputeTraced(StepCosts costs = nullptr) {
    const ComputeRequest task = TakeTask(0);
    EXPECT_TRUE(task.trace);
    const TaskTimes times{now_ + absl::Milliseconds(2),
                          now_ + absl::Milliseconds(5), 1};
    now_ = times.end;
    Keep(agent_.OnComputed(now_, task.task, MakePiece(task.begin, task.end),
                           TaskCost{absl::Milliseconds(3)}, nullptr,
                           std::move(costs), times));
  }
  std::vector<SpanKind> Kinds(const SpanBatch& batch) {
    std::vector<SpanKind> kinds;
    for (const TraceSpan& span : batch.spans) kinds.push_back(span.kind);
    return kinds;
  }
};

TEST_F(AgentTraceTest, RecordsATaskFromItsLeaseUntilItsPieceIsSent) {
  const Lease lease = LeaseOf(1, 0, 1);
  const absl::Time leased = now_;
  GivenTraced({lease});
  now_ += absl::Milliseconds(10);
  Give(GrantOf(lease, 0));  // no credit
  const absl::Time started = now_;
  ComputeTraced(
      std::make_shared<const std::vector<StepCost>>(std::vector<StepCost>{
          {1, 1'000'000, 0, 0, 1, 8}, {3, 9'000'000, 0, 1, 1, 8}}));
  now_ += absl::Milliseconds(20);
  Give(GrantOf(lease, 100));
  const WorkerBeat beat = Beat();
  ASSERT_THAT(beat.spans, SizeIs(1));
  const SpanBatch& batch = beat.spans[0];
  EXPECT_EQ(batch.trace, 9);
  EXPECT_EQ(batch.down, absl::Seconds(3));
  ASSERT_THAT(Kinds(batch),
              ElementsAre(SpanKind::kQueued, SpanKind::kWaitsForThread,
                          SpanKind::kComputes, SpanKind::kStep, SpanKind::kStep,
                          SpanKind::kReady));
  const auto& spans = batch.spans;
  EXPECT_EQ(spans[0].begin, leased);
  EXPECT_EQ(spans[0].end, started);
  EXPECT_EQ(spans[1].begin, started);
  EXPECT_EQ(spans[1].end, spans[2].begin);
  EXPECT_EQ(spans[2].end - spans[2].begin, absl::Milliseconds(3));
  EXPECT_EQ(spans[2].lane, 1);
  EXPECT_EQ(spans[2].rows, 1);
  // Steps lie one after the other within the task.
  EXPECT_EQ(spans[3].place, 1);
  EXPECT_EQ(spans[3].begin, spans[2].begin);
  EXPECT_EQ(spans[4].begin, spans[3].end);
  EXPECT_EQ(spans[4].end, spans[2].end);
  EXPECT_EQ(spans[5].begin, spans[2].end);
  EXPECT_EQ(spans[5].end, spans[2].end + absl::Milliseconds(20));
  for (const TraceSpan& span : spans) {
    EXPECT_EQ(span.split, lease.split);
    EXPECT_EQ(span.attempt, lease.attempt);
    EXPECT_LE(span.begin, span.end);
  }
}

TEST_F(AgentTraceTest, SaysNothingUnlessALeaseIsTraced) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenLeases({lease});
  Give(GrantOf(lease, 1000));
  EXPECT_FALSE(tasks_.at(0).trace);
  ComputeAll();
  EXPECT_THAT(Beat().spans, IsEmpty());
}

TEST_F(AgentTraceTest, ForgetsATraceThatTheDispatcherNamesNoMore) {
  const Lease lease = LeaseOf(1, 0, 10);
  GivenTraced({lease});
  Give(GrantOf(lease, 1000));
  EXPECT_THAT(Beat().spans, SizeIs(1));
  Answer({lease});
  while (!tasks_.empty()) Compute();
  EXPECT_THAT(Beat().spans, IsEmpty());
  EXPECT_EQ(Values(), Numbers(0, 10));
}

TEST_F(AgentTraceTest, SendsAHeartbeatSoonWhenMuchIsRecorded) {
  const Lease lease = LeaseOf(1, 0, 1'000'000);
  GivenTraced({lease});
  Give(GrantOf(lease, 80));
  ComputeTraced();  // the first cost of a plan is sent soon
  Beat();
  const absl::Time began = now_;
  uint64_t total = 80;
  uint64_t spans = 0;
  while (spans < SpanRing::kSpansMax / 2) {
    EXPECT_GT(agent_.NextDeadline(), now_ + absl::Milliseconds(50)) << spans;
    Give(GrantOf(lease, total += 80));
    const ComputeRequest task = TakeTask(0);
    Keep(agent_.OnComputed(now_, task.task, MakePiece(task.begin, task.end),
                           TaskCost{absl::Milliseconds(10)}, nullptr, nullptr,
                           TaskTimes{now_, now_, 0}));
    spans += 2;  // a wait of no time is left out
  }
  const WorkerBeat beat = Beat();
  EXPECT_LE(now_ - began, absl::Milliseconds(1));
  ASSERT_THAT(beat.spans, SizeIs(1));
  EXPECT_GE(beat.spans[0].spans.size(), SpanRing::kSpansMax / 2);
}

}  // namespace
}  // namespace feedmill::testing
