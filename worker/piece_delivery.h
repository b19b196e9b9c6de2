#ifndef FEEDMILL_WORKER_PIECE_DELIVERY_H_
#define FEEDMILL_WORKER_PIECE_DELIVERY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/agent_context.h"
#include "worker/compute_task.h"

namespace feedmill {

// Brings the pieces of tasks to the streams that wait for them, and sends the
// pieces of streams as frames. Pure.
class PieceDelivery {
 public:
  // `context` must outlive this object.
  explicit PieceDelivery(AgentContext& context) : context_(context) {}

  // Counts the piece of a task in the worker's memory. Returns the task's error
  // if it has one.
  absl::StatusOr<BufferedPiecePtr> BufferPiece(
      absl::Time now, const ComputeTask& task, absl::StatusOr<Piece> piece,
      std::shared_ptr<const PackedParts> packed, StepCosts costs);
  // Stores the task's result in all streams that wait for it, and sends what
  // is ready. An error ends the leases that reached it.
  void Deliver(absl::Time now, TaskId id, const ComputeTask& task,
               absl::StatusOr<BufferedPiecePtr> made);
  // Sends ready pieces in order, within the credit and the client's part of the
  // memory. REQUIRES: the lease has a stream.
  void Send(absl::Time now, LeasedSplit& held);
  // Returns what the lease's reader is sent of a piece: without the elements of
  // other ranks, if the plan is sequenced.
  BufferedPiecePtr PartFor(LeasedSplit& held, BufferedPiecePtr made);

 private:
  void DeliverTo(absl::Time now, LeasedSplit& held, TaskId task,
                 absl::StatusOr<BufferedPiecePtr> made);

  AgentContext& context_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_PIECE_DELIVERY_H_
