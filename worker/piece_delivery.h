#ifndef FEEDMILL_WORKER_PIECE_DELIVERY_H_
#define FEEDMILL_WORKER_PIECE_DELIVERY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/agent_clock.h"
#include "worker/compiled_plans.h"
#include "worker/compute_task.h"
#include "worker/lease_spans.h"
#include "worker/leased_split.h"
#include "worker/load_report.h"
#include "worker/shared_results.h"
#include "worker/unsent_pieces.h"

namespace feedmill {

// Brings the pieces of tasks to the streams that wait for them, and sends the
// pieces of streams as frames. Pure.
class PieceDelivery {
 public:
  // The references must outlive this object. `used_bytes`: element bytes
  // computed and not sent; it must outlive all pieces.
  PieceDelivery(const WorkerAgentSettings& settings, uint64_t& used_bytes,
                AgentClock& clock, LeasedSplits& leases,
                const CompiledPlans& plans, SharedResults& shared,
                UnsentPieces& unsent, LoadReport& load, LeaseSpans& spans)
      : settings_(settings),
        used_bytes_(used_bytes),
        clock_(clock),
        leases_(leases),
        plans_(plans),
        shared_(shared),
        unsent_(unsent),
        load_(load),
        spans_(spans) {}

  // Counts the piece of a task in the worker's memory. Returns the task's error
  // if it has one.
  absl::StatusOr<BufferedPiecePtr> BufferPiece(
      absl::Time now, const ComputeTask& task, absl::StatusOr<Piece> piece,
      std::shared_ptr<const PackedParts> packed, StepCosts costs);
  // Stores the task's result in all streams that wait for it, and sends what
  // is ready. An error ends the leases that reached it.
  void Deliver(absl::Time now, TaskId id, const ComputeTask& task,
               absl::StatusOr<BufferedPiecePtr> made, WorkerEffects& effects);
  // Sends ready pieces in order, within the credit and the client's part of the
  // memory. REQUIRES: the lease has a stream.
  void Send(absl::Time now, LeasedSplit& held, WorkerEffects& effects);

 private:
  void DeliverTo(absl::Time now, LeasedSplit& held, TaskId task,
                 absl::StatusOr<BufferedPiecePtr> made, WorkerEffects& effects);

  const WorkerAgentSettings& settings_;
  uint64_t& used_bytes_;
  AgentClock& clock_;
  LeasedSplits& leases_;
  const CompiledPlans& plans_;
  SharedResults& shared_;
  UnsentPieces& unsent_;
  LoadReport& load_;
  LeaseSpans& spans_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_PIECE_DELIVERY_H_
