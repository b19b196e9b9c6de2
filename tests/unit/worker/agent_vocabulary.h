#ifndef FEEDMILL_TESTS_UNIT_WORKER_AGENT_VOCABULARY_H_
#define FEEDMILL_TESTS_UNIT_WORKER_AGENT_VOCABULARY_H_

#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/worker/delivery_vocabulary.h"
#include "worker/worker_agent.h"

namespace feedmill::testing {

inline const PeerId kClient{"client"};
inline const PlanId kPlan{"plan"};
inline const Session kSession{ConsumerId{"solo"}, Incarnation{5}};

inline SplitId SplitNo(uint64_t number) { return {JournalId{1}, number}; }

// A worker with one thread (two tasks) and frames of 80 bytes: ten rows.
class WorkerAgentTest : public ::testing::Test {
 protected:
  static WorkerAgentSettings Settings() {
    WorkerAgentSettings settings;
    settings.worker = WorkerId{"tcp://w:1"};
    settings.incarnation = Incarnation{7};
    settings.memory_bytes = 400;
    settings.frame_bytes = 80;
    settings.cache_bytes = 240;
    return settings;
  }

  static Lease LeaseOf(uint64_t number, uint64_t begin, uint64_t end) {
    return {SplitNo(number), kSession, kPlan, {begin, 0}, {end, 0}, Attempt{1}};
  }
  static Grant GrantOf(const Lease& lease, uint64_t total, bool head = false,
                       uint64_t opening = 1) {
    return {lease.session,    lease.split, Incarnation{7}, lease.attempt,
            Opening{opening}, lease.begin, total,          head};
  }

  // The dispatcher answers with these leases; the first time it also defines
  // the plan.
  WorkerEffects Answer(std::vector<Lease> leases) {
    WorkerAnswer answer;
    answer.incarnation = Incarnation{7};
    answer.leases = std::move(leases);
    answer.heartbeat_interval = absl::Milliseconds(200);
    answer.park_after = absl::Seconds(1);
    if (!std::exchange(defined_, true)) {
      answer.definitions.push_back(PlanDefinition{kPlan, "graph", "", 0, 0});
    }
    return Keep(agent_.Handle(now_, kDispatcherPeer, answer));
  }
  void GivenLeases(const std::vector<Lease>& leases) {
    Answer(leases);
    Keep(agent_.OnDefined(now_, kPlan, absl::OkStatus(), traits_));
  }
  WorkerEffects Give(const Grant& grant) {
    return Keep(agent_.Handle(now_, kClient, grant));
  }
  // Ends the oldest task: with all its positions, or those before `end`.
  WorkerEffects Compute(uint64_t end = 0, const RowsAt& rows = OneRow) {
    return ComputeTask(0, end, rows);
  }
  WorkerEffects ComputeTask(size_t index, uint64_t end = 0,
                            const RowsAt& rows = OneRow) {
    const ComputeRequest task = TakeTask(index);
    Piece piece =
        MakePiece(task.begin, end == 0 ? task.end : Cursor{end, 0}, rows);
    return Keep(agent_.OnComputed(now_, task.task, piece,
                                  TaskCost{absl::Microseconds(1)}));
  }
  ComputeRequest TakeTask(size_t index) {
    EXPECT_LT(index, tasks_.size());
    ComputeRequest task = tasks_.at(index);
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(index));
    return task;
  }
  void ComputeAll() {
    for (int i = 0; i < 1000 && !tasks_.empty(); ++i) Compute();
    EXPECT_THAT(tasks_, ::testing::IsEmpty());
  }
  void ComputeInNoTime(const RowsAt& rows = OneRow) {
    const ComputeRequest task = TakeTask(0);
    Keep(agent_.OnComputed(now_, task.task,
                           MakePiece(task.begin, task.end, rows),
                           TaskCost{absl::Nanoseconds(1)}));
  }
  // Ends all tasks, and tasks that follow them, each in a nanosecond.
  void ComputeAllInNoTime() {
    while (!tasks_.empty()) ComputeInNoTime();
  }
  // Returns the next heartbeat, whenever it is due.
  WorkerBeat Beat() {
    now_ = std::max(now_, agent_.NextDeadline());
    auto beats = Sent<WorkerBeat>(Keep(agent_.OnTick(now_)).sends);
    EXPECT_THAT(beats, ::testing::SizeIs(1));
    return beats.empty() ? WorkerBeat{} : beats[0];
  }

  // Records the effects. The transport sends frames at once.
  WorkerEffects Keep(WorkerEffects effects) {
    effects.unsent.clear();
    while (agent_.awaits_transport()) {
      WorkerEffects more = agent_.OnSent(now_);
      for (Outgoing& sent : more.sends) effects.sends.push_back(sent);
      for (ComputeRequest& task : more.compute) effects.compute.push_back(task);
    }
    for (const Frame& frame : Sent<Frame>(effects.sends)) {
      frames_.push_back(frame);
    }
    for (const ComputeRequest& task : effects.compute) tasks_.push_back(task);
    return effects;
  }
  // Returns the values of all frames since the last call; expects that they are
  // contiguous.
  std::vector<int64_t> Values() {
    std::vector<int64_t> values;
    for (size_t i = 0; i < frames_.size(); ++i) {
      if (i > 0) {
        EXPECT_EQ(frames_[i].piece.begin, frames_[i - 1].piece.end);
      }
      for (int64_t v : ValuesOf(frames_[i].piece)) {
        values.push_back(v / 1000);
      }
    }
    frames_.clear();
    return values;
  }
  static std::vector<int64_t> Numbers(int64_t begin, int64_t end) {
    std::vector<int64_t> numbers;
    for (int64_t n = begin; n < end; ++n) numbers.push_back(n);
    return numbers;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Seconds(100);
  WorkerAgent agent_{Settings()};
  std::vector<ComputeRequest> tasks_;
  std::vector<Frame> frames_;
  bool defined_ = false;
  PlanTraits traits_;
};

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_UNIT_WORKER_AGENT_VOCABULARY_H_
