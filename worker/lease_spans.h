#ifndef FEEDMILL_WORKER_LEASE_SPANS_H_
#define FEEDMILL_WORKER_LEASE_SPANS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "core/wire/span_ring.h"
#include "worker/agent_clock.h"
#include "worker/compute_task.h"
#include "worker/outgoing_stream.h"

namespace feedmill {

// The spans of a worker while jobs are traced. No decision depends on them;
// they only make a heartbeat come sooner. Pure.
class LeaseSpans {
 public:
  // `clock` must outlive this object.
  explicit LeaseSpans(AgentClock& clock) : clock_(clock) {}

  // Begins and ends traces as the dispatcher's answer says.
  void TakeOrder(absl::Time now, const WorkerAnswer& answer);
  // A task of the lease starts. Adds the span before its first task.
  void NoteBegun(absl::Time now, LeasedSplit& held);
  // A task ended.
  void AddTask(absl::Time now, const ComputeTask& task,
               const absl::StatusOr<Piece>& piece, const StepCosts& costs,
               const TaskTimes& times);
  // A piece is sent.
  void AddReady(absl::Time now, const Lease& lease, const BufferedPiece& made);
  // Returns the spans since the last call, for a heartbeat.
  std::vector<SpanBatch> Take(absl::Time now);

 private:
  void Add(absl::Time now, uint64_t trace, const TraceSpan& span);

  AgentClock& clock_;
  std::map<uint64_t, SpanRing> traces_;  // that run, by their id
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_LEASE_SPANS_H_
