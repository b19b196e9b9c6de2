#include "worker/piece_delivery.h"

#include <utility>

namespace feedmill {
namespace {

// Costs of completed splits are reported in one heartbeat within this time:
// they only influence the size of later splits.
constexpr absl::Duration kCoalesceCosts = absl::Milliseconds(20);

// Least bytes of elements for each byte of a state: each rank gets states.
constexpr uint64_t kBytesPerStateByte = 32;

}  // namespace

absl::StatusOr<BufferedPiecePtr> PieceDelivery::BufferPiece(
    absl::Time now, const ComputeTask& task, absl::StatusOr<Piece> piece,
    std::shared_ptr<const PackedParts> packed, StepCosts costs) {
  if (!piece.ok()) return piece.status();
  const CompiledPlan* const plan = context_.plans.Find(task.plan);
  auto made = std::make_shared<BufferedPiece>(
      context_.used_bytes, plan == nullptr ? nullptr : plan->made_bytes,
      *std::move(piece), std::move(packed), std::move(costs));
  if (task.trace != 0) made->at = now;
  return made;
}

void PieceDelivery::Deliver(absl::Time now, TaskId id, const ComputeTask& task,
                            absl::StatusOr<BufferedPiecePtr> made) {
  if (!task.shared_key) {
    const auto lease = context_.leases.find(task.split);
    if (lease == context_.leases.end()) return;
    return DeliverTo(now, lease->second, id, std::move(made));
  }
  // An error is not kept: each rank that reaches it computes it again.
  if (made.ok() && (*made)->piece.error.ok()) {
    context_.shared.Keep(now, *task.shared_key, id, *made, task.ranks);
  } else {
    context_.shared.Abandon(*task.shared_key, task.begin, id);
  }
  for (auto& [split, held] : context_.leases) DeliverTo(now, held, id, made);
}

// Stores the result of a task in the stream's segment that waits for it.
void PieceDelivery::DeliverTo(absl::Time now, LeasedSplit& held, TaskId task,
                              absl::StatusOr<BufferedPiecePtr> made) {
  if (!held.stream || !held.stream->Awaits(task)) return;
  if (!made.ok()) {
    held.Fail(made.status());
    return context_.clock.BeatSoon(now);
  }
  if (!held.stream->Store(task, PartFor(held, *std::move(made)))) return;
  Send(now, held);
  if (held.stream->Complete()) context_.clock.BeatWithin(now, kCoalesceCosts);
}

BufferedPiecePtr PieceDelivery::PartFor(LeasedSplit& held,
                                        BufferedPiecePtr made) {
  const CompiledPlan* const plan = context_.plans.Find(held.lease.plan);
  if (plan == nullptr || !plan->traits.sequenced || held.lease.share.whole()) {
    return made;
  }
  Piece own = made->piece.OfShareByRank(held.lease.share);
  const uint64_t bytes = own.chunk.rows == 0 ? 0 : own.chunk.ElementBytes();
  held.bytes_since_state += bytes;
  if (own.state != nullptr) {
    const uint64_t cost = kBytesPerStateByte * own.state->bytes.size();
    if (held.bytes_since_state < cost) {
      own.state = nullptr;
    } else {
      held.bytes_since_state = 0;
    }
  }
  return std::make_shared<BufferedPiece>(std::move(made), std::move(own));
}

void PieceDelivery::Send(absl::Time now, LeasedSplit& held) {
  OutgoingStream& stream = *held.stream;
  while (stream.NextIsReady()) {
    if (!context_.unsent.MayAdd(stream.to(), stream.NextBytes())) {
      return context_.unsent.NoteAwaited();
    }
    const BufferedPiecePtr made = stream.TakeNext();
    if (made == nullptr) return;
    context_.load.NoteSent(held.lease.plan, made->piece.chunk.rows,
                           made->bytes);
    if (held.lease.trace != 0) context_.spans.AddReady(now, held.lease, *made);
    if (const auto key = context_.plans.SharedKey(held)) {
      context_.shared.Took(*key, made->piece.begin);
    }
    const OutgoingStream::Terms& terms = stream.terms;
    const bool last = made.use_count() == 1;  // no other rank needs it
    context_.effects.sends.push_back(
        {stream.to(),
         Frame{.session = held.lease.session,
               .split = held.lease.split,
               .worker = context_.settings.worker,
               .worker_incarnation = context_.settings.incarnation,
               .attempt = held.lease.attempt,
               .opening = stream.opening(),
               .piece = last ? std::move(made->piece) : made->piece,
               .packed = terms.compression == LinkCompression::kNone
                             ? nullptr
                             : made->packed,
               .checksums = terms.checksums,
               .costs = terms.profile ? made->costs : nullptr}});
    context_.effects.unsent.push_back(context_.unsent.Add(stream.to(), made));
  }
}

}  // namespace feedmill
