#include "worker/piece_delivery.h"

#include <utility>

namespace feedmill {
namespace {

// Costs of completed splits are reported in one heartbeat within this time:
// they only influence the size of later splits.
constexpr absl::Duration kCoalesceCosts = absl::Milliseconds(20);

}  // namespace

absl::StatusOr<BufferedPiecePtr> PieceDelivery::BufferPiece(
    absl::Time now, const ComputeTask& task, absl::StatusOr<Piece> piece,
    std::shared_ptr<const PackedParts> packed, StepCosts costs) {
  if (!piece.ok()) return piece.status();
  const CompiledPlan* const plan = plans_.Find(task.plan);
  auto made = std::make_shared<BufferedPiece>(
      used_bytes_, plan == nullptr ? nullptr : plan->made_bytes,
      *std::move(piece), std::move(packed), std::move(costs));
  if (task.trace != 0) made->at = now;
  return made;
}

void PieceDelivery::Deliver(absl::Time now, TaskId id, const ComputeTask& task,
                            absl::StatusOr<BufferedPiecePtr> made,
                            WorkerEffects& effects) {
  if (!task.shared_key) {
    const auto lease = leases_.find(task.split);
    if (lease == leases_.end()) return;
    return DeliverTo(now, lease->second, id, std::move(made), effects);
  }
  // An error is not kept: each rank that reaches it computes it again.
  if (made.ok() && (*made)->piece.error.ok()) {
    shared_.Keep(now, *task.shared_key, id, *made, task.ranks);
  } else {
    shared_.Abandon(*task.shared_key, task.begin, id);
  }
  for (auto& [split, held] : leases_) DeliverTo(now, held, id, made, effects);
}

// Stores the result of a task in the stream's segment that waits for it.
void PieceDelivery::DeliverTo(absl::Time now, LeasedSplit& held, TaskId task,
                              absl::StatusOr<BufferedPiecePtr> made,
                              WorkerEffects& effects) {
  if (!held.stream || !held.stream->Awaits(task)) return;
  if (!made.ok()) {
    held.Fail(made.status());
    return clock_.BeatSoon(now);
  }
  if (!held.stream->Store(task, *std::move(made))) return;
  Send(now, held, effects);
  if (held.stream->Complete()) clock_.BeatWithin(now, kCoalesceCosts);
}

void PieceDelivery::Send(absl::Time now, LeasedSplit& held,
                         WorkerEffects& effects) {
  OutgoingStream& stream = *held.stream;
  while (stream.NextIsReady()) {
    if (!unsent_.MayAdd(stream.to(), stream.NextBytes())) {
      return unsent_.NoteAwaited();
    }
    const BufferedPiecePtr made = stream.TakeNext();
    if (made == nullptr) return;
    load_.NoteSent(held.lease.plan, made->piece.chunk.rows, made->bytes);
    if (held.lease.trace != 0) spans_.AddReady(now, held.lease, *made);
    if (const auto key = plans_.SharedKey(held)) {
      shared_.Took(*key, made->piece.begin);
    }
    const OutgoingStream::Terms& terms = stream.terms;
    const bool last = made.use_count() == 1;  // no other rank needs it
    effects.sends.push_back(
        {stream.to(),
         Frame{.session = held.lease.session,
               .split = held.lease.split,
               .worker = settings_.worker,
               .worker_incarnation = settings_.incarnation,
               .attempt = held.lease.attempt,
               .opening = stream.opening(),
               .piece = last ? std::move(made->piece) : made->piece,
               .packed = terms.compression == LinkCompression::kNone
                             ? nullptr
                             : made->packed,
               .checksums = terms.checksums,
               .costs = terms.profile ? made->costs : nullptr}});
    effects.unsent.push_back(unsent_.Add(stream.to(), made));
  }
}

}  // namespace feedmill
