#ifndef FEEDMILL_WORKER_COMPUTE_SCHEDULE_H_
#define FEEDMILL_WORKER_COMPUTE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/agent_context.h"
#include "worker/compute_task.h"
#include "worker/piece_delivery.h"

namespace feedmill {

// Chooses what a worker computes next, and whose memory it may take. Pure.
class ComputeSchedule {
 public:
  // The references must outlive this object.
  ComputeSchedule(AgentContext& context, PieceDelivery& delivery)
      : context_(context), delivery_(delivery) {}

  void ReadInPlace(bool in_place) { in_place_ = in_place; }
  // Starts as many tasks as threads, memory and streams allow.
  void Schedule(absl::Time now);
  // Stops the tasks that no stream waits for: their reader or its job ended, or
  // another attempt took their place.
  void StopUnneeded();
  // A task ended. Returns it, and measures its cost. A piece that is not what
  // was requested becomes an error. `costs`, `times`: as in
  // WorkerAgent::OnComputed.
  ComputeTask EndTask(absl::Time now, TaskId id, absl::StatusOr<Piece>& piece,
                      const TaskCost& cost, const StepCosts& costs,
                      const std::optional<TaskTimes>& times);

  size_t tasks() const { return tasks_.size(); }
  // Returns the costs of plans since the last call.
  std::vector<PlanCost> TakeCosts();
  // Returns the plan's memory and streams, and the causes for which streams
  // wait.
  PlanLoad LoadOf(absl::Time now, const PlanId& id,
                  const CompiledPlan& plan) const;

 private:
  void Measure(absl::Time now, const ComputeTask& task, const Piece& piece,
               absl::Duration busy);
  bool Needed(TaskId id, const ComputeTask& task) const;
  // ---- the choice
  LeasedSplit* NextToCompute(absl::Time now);
  bool Wants(absl::Time now, const LeasedSplit& held) const;
  bool MayCompute(absl::Time now, const LeasedSplit& held) const;
  bool Starved(const OutgoingStream& stream) const;
  bool WaitsToSend(const OutgoingStream& stream) const;
  bool MayHaveTask(const CompiledPlan& plan) const;
  bool ThreadsAreBusy() const;
  bool HasThread(const CompiledPlan& plan) const;
  bool WaitsForMemory(absl::Time now, const LeasedSplit& held) const;
  bool FarAhead(const CompiledPlan& plan, const OutgoingStream& stream) const;
  void WeighJobs(absl::Time now);
  double Served(const CompiledPlan& plan) const;
  // ---- sizes
  uint64_t FrameBytes(const CompiledPlan& plan) const;
  uint64_t PositionsFor(const CompiledPlan& plan) const;
  uint64_t ExpectedBytes(const CompiledPlan& plan, uint64_t positions) const;
  // ---- memory
  bool HasRoom(const CompiledPlan& plan) const;
  bool WithinShare(const CompiledPlan& plan, uint64_t bytes) const;
  bool Fits(uint64_t bytes) const;
  bool FreeIdle(uint64_t bytes);
  void TakeMemory(LeasedSplit& for_whom, uint64_t bytes);
  // ---- tasks
  std::vector<PositionRange> TakeSoon(const PlanId& id, uint64_t ahead);
  void Start(absl::Time now, LeasedSplit& held, uint64_t positions);
  double AtOnceCost() const;
  void Adopt(absl::Time now, LeasedSplit& held);

  AgentContext& context_;
  PieceDelivery& delivery_;

  bool in_place_ = false;
  std::map<TaskId, ComputeTask> tasks_;
  size_t beside_ = 0;    // tasks that run beside the threads that compute
  uint64_t places_ = 0;  // that the other tasks take
  uint64_t last_task_ = 0;
  uint64_t expected_bytes_ = 0;       // of all tasks in flight
  double served_ = 0;                 // of the plan that was served last
  uint64_t weights_ = 0;              // of the jobs that are read here now
  std::map<PlanId, PlanCost> costs_;  // since the last TakeCosts
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_COMPUTE_SCHEDULE_H_
