#include "worker/lease_spans.h"

#include <algorithm>

namespace feedmill {

void LeaseSpans::TakeOrder(absl::Time now, const WorkerAnswer& answer) {
  if (!answer.tracing.has_value()) {
    if (!traces_.empty()) traces_.clear();
    return;
  }
  const TraceOrder& order = *answer.tracing;
  std::erase_if(traces_, [&](const auto& entry) {
    return std::find(order.traces.begin(), order.traces.end(), entry.first) ==
           order.traces.end();
  });
  for (const uint64_t trace : order.traces) {
    traces_.try_emplace(trace, trace).first->second.NoteClock(now, order);
  }
}

// A lease may name a trace that has ended since.
void LeaseSpans::Add(absl::Time now, uint64_t trace, const TraceSpan& span) {
  const auto ring = traces_.find(trace);
  if (ring == traces_.end()) return;
  ring->second.Add(span);
  if (ring->second.half_full()) clock_.BeatSoon(now);
}

void LeaseSpans::NoteBegun(absl::Time now, LeasedSplit& held) {
  if (held.begun) return;
  held.begun = true;
  Add(now, held.lease.trace,
      {.kind = SpanKind::kQueued,
       .split = held.lease.split,
       .attempt = held.lease.attempt,
       .begin = held.leased,
       .end = now,
       .from = held.lease.begin,
       .to = held.lease.end});
}

// The steps of a task run by turns, block after block; only their sums are
// measured. The spans show these sums one after the other.
void LeaseSpans::AddTask(absl::Time now, const ComputeTask& task,
                         const absl::StatusOr<Piece>& piece,
                         const StepCosts& costs, const TaskTimes& times) {
  TraceSpan span{.split = task.split,
                 .attempt = task.attempt,
                 .from = task.begin,
                 .to = piece.ok() ? piece->end : task.end,
                 .lane = times.thread};
  span.kind = SpanKind::kWaitsForThread;
  span.begin = task.started;
  span.end = times.begin;
  if (span.end - span.begin >= kShortestWait) Add(now, task.trace, span);
  span.kind = SpanKind::kComputes;
  span.begin = times.begin;
  span.end = times.end;
  if (piece.ok() && piece->chunk.rows > 0) {
    span.rows = piece->chunk.rows;
    span.bytes = piece->chunk.ElementBytes();
  }
  Add(now, task.trace, span);
  if (costs == nullptr) return;
  absl::Time at = times.begin;
  for (const StepCost& cost : *costs) {
    span.kind = SpanKind::kStep;
    span.place = cost.place;
    span.rows = cost.rows_out;
    span.bytes = cost.bytes_out;
    span.begin = at;
    at = std::min(times.end, at + absl::Nanoseconds(cost.wall_ns));
    span.end = at;
    Add(now, task.trace, span);
  }
}

void LeaseSpans::AddReady(absl::Time now, const Lease& lease,
                          const BufferedPiece& made) {
  const Piece& piece = made.piece;
  const absl::Time begin = made.at == absl::InfinitePast() ? now : made.at;
  Add(now, lease.trace,
      {.kind = SpanKind::kReady,
       .split = lease.split,
       .attempt = lease.attempt,
       .begin = begin,
       .end = std::max(begin, now),
       .from = piece.begin,
       .to = piece.end,
       .rows = piece.chunk.rows,
       .bytes = made.bytes});
}

std::vector<SpanBatch> LeaseSpans::Take(absl::Time now) {
  std::vector<SpanBatch> batches;
  for (auto& [trace, ring] : traces_) batches.push_back(ring.Take(now));
  return batches;
}

}  // namespace feedmill
