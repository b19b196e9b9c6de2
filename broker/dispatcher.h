#ifndef FEEDMILL_BROKER_DISPATCHER_H_
#define FEEDMILL_BROKER_DISPATCHER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "broker/dispatcher_state.h"
#include "core/wire/message.h"

namespace feedmill {

// What the dispatcher must know of a graph to hand its work out.
struct JobShape {
  std::string fingerprint;
  std::string manifest_hash;  // "" without files
  uint64_t source_size = 0;
  uint64_t positions = 0;        // kEndless for an endless repeat
  uint64_t first_split = 1;      // positions of the first split, before any
                                 // cost is known
};

// The graph-reading part, passed in so that the simulator can plan without
// files. Both are pure.
struct Planner {
  // Whether the graph needs a manifest; InvalidArgument for a bad graph.
  std::function<absl::StatusOr<bool>(const std::string& graph)> needs_manifest;
  // `manifest`: Manifest::Serialize, or "" if none is needed.
  std::function<absl::StatusOr<JobShape>(const std::string& graph,
                                         const std::string& manifest,
                                         uint64_t seed, uint64_t iteration)>
      shape;
};

// Settings of the state machine; each with the default of design.md §6–7.
struct DispatcherSettings {
  absl::Duration heartbeat_interval = absl::Milliseconds(200);  // the least
  absl::Duration worker_timeout = absl::Seconds(1);
  absl::Duration park_after = absl::Seconds(1);
  absl::Duration client_timeout = absl::Minutes(5);
  absl::Duration sharer_timeout = absl::Seconds(30);
  absl::Duration straggler_after = absl::Seconds(1);
  absl::Duration restart_grace = absl::Milliseconds(500);
  absl::Duration split_time = absl::Milliseconds(100);
  uint64_t split_bytes = uint64_t{16} << 20;
  uint32_t window_min = 3;       // splits ahead of what a consumer has taken
  uint32_t attempts_max = 3;     // failed attempts before the run fails
  uint32_t jobs_max = 10'000;
};

// What the shell does after a call: journal `events`, then send.
struct DispatcherEffects {
  std::vector<DispatcherEvent> events;
  std::vector<Outgoing> sends;
};

// The state machine in the broker: jobs, runs, sessions, splits, leases. Pure:
// no clock, socket, thread, file or randomness. Protocol: PROTOCOL.md and
// tests/model/README.md.
//
// Thread: the broker's reactor only. States of a split: unbound → bound →
// leased (1 or 2 attempts) → served → ended.
class Dispatcher {
 public:
  // `state`: rebuilt from the journal by replay, or empty with a new journal.
  Dispatcher(DispatcherSettings settings, Planner planner,
             DispatcherState state, absl::Time now);
  virtual ~Dispatcher() = default;

  DispatcherEffects Handle(absl::Time now, const PeerId& from,
                           const Message& message);
  DispatcherEffects OnTick(absl::Time now);
  // When OnTick has something to do; InfiniteFuture if nothing.
  absl::Time NextDeadline() const;

  const DispatcherState& state() const;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCHER_H_
