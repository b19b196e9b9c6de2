#ifndef FEEDMILL_WORKER_WORKER_AGENT_H_
#define FEEDMILL_WORKER_WORKER_AGENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/strong_id.h"
#include "core/wire/message.h"

namespace feedmill {

using TaskId = StrongId<struct TaskIdTag, uint64_t>;

struct WorkerAgentSettings {
  WorkerId worker;
  Incarnation incarnation;
  uint32_t threads = 1;                       // compute tasks in flight: 2 each
  uint32_t slots = 2;                         // leases wanted
  uint64_t memory_bytes = uint64_t{256} << 20;
  uint64_t frame_bytes = uint64_t{512} << 10;  // a frame's target
  absl::Duration heartbeat_interval = absl::Milliseconds(200);  // until told
};

// Run positions [begin, end) of a plan, up to about bytes_target of output.
struct ComputeRequest {
  TaskId task;
  PlanId plan;
  Cursor begin;
  Cursor end;
  uint64_t bytes_target = 0;
};

// What the shell does after a call: start work, then send.
struct WorkerEffects {
  std::vector<Outgoing> sends;
  std::vector<PlanDefinition> define;     // compile these; failures: OnDefined
  std::vector<PlanId> forget;             // plans that no lease needs
  std::vector<ComputeRequest> compute;    // each answered by one OnComputed
  std::vector<ManifestRequest> resolve;   // each answered by one OnResolved
  bool drained = false;                   // the process may exit
};

// The worker's state machine: leases, streams, credit, memory. Pure.
//
// Thread: the worker's reactor only. A stream: open ⇄ blocked (no credit: its
// memory may be taken) ⇄ parked (no grant for park_after); gone when the
// lease is.
class WorkerAgent {
 public:
  explicit WorkerAgent(WorkerAgentSettings settings);
  virtual ~WorkerAgent() = default;

  WorkerEffects Handle(absl::Time now, const PeerId& from,
                       const Message& message);
  WorkerEffects OnTick(absl::Time now);
  // A task ended. `busy`: time on its thread.
  WorkerEffects OnComputed(absl::Time now, TaskId task,
                           absl::StatusOr<Piece> piece, absl::Duration busy);
  // A definition was compiled, or why not (the plan's leases fail with it).
  WorkerEffects OnDefined(absl::Time now, const PlanId& plan,
                          absl::Status status);
  WorkerEffects OnResolved(absl::Time now, ManifestResult result);
  // Finish, hand back, leave: no new leases; drained when none is left.
  WorkerEffects Drain(absl::Time now);

  absl::Time NextDeadline() const;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_WORKER_AGENT_H_
