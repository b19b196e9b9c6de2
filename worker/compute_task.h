#ifndef FEEDMILL_WORKER_COMPUTE_TASK_H_
#define FEEDMILL_WORKER_COMPUTE_TASK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/shared_results.h"

namespace feedmill {

// Most tasks at a time that run beside the threads that compute.
inline constexpr size_t kTasksBesideMax = 8;

struct WorkerAgentSettings {
  WorkerId worker;  // "": none yet, see WorkerAgent::TakeName
  Incarnation incarnation;
  uint32_t threads = 1;  // two compute tasks per thread
  uint32_t slots = 2;    // leases requested
  uint64_t memory_bytes = uint64_t{256} << 20;
  uint64_t frame_bytes = uint64_t{512} << 10;  // target size of a frame
  uint64_t cache_bytes = uint64_t{2} << 20;    // of a core
  // The interpreter of Python functions; nullopt: it runs none.
  std::optional<PythonInterpreter> python{};
  std::string release{};  // of feedmill
  // until the dispatcher sets it
  absl::Duration heartbeat_interval = absl::Milliseconds(200);
};

// Properties of a compiled plan that affect how a worker schedules it.
struct PlanTraits {
  // The leases of all ranks need the same pieces, so each is computed once.
  bool alike = false;
  // Element n of the pipeline is row n of position 0, and no element is left
  // out. So a rank is sent only its own. Tasks for several ranks are `by_rank`.
  bool sequenced = false;
  // Number of positions to announce ahead of those that run; 0: none.
  uint64_t positions_ahead = 0;
  // The tasks wait for other workers, so that they run beside the threads that
  // compute. The last task decides.
  bool beside = false;
  // Not empty: the plan is a pipeline with streamed inputs, or one of these
  // inputs, and the plans of this name are parts of one read.
  std::string family{};
};

// Positions [begin, end) of a plan.
struct PositionRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const PositionRange&, const PositionRange&) = default;
};

// Runs positions [begin, end) of a plan, up to about bytes_target of output.
struct ComputeRequest {
  TaskId task;
  PlanId plan;
  Cursor begin;
  Cursor end;
  uint64_t bytes_target = 0;
  Share share{};  // of the lease
  // The client, and the codec it requests.
  PeerId to{};
  LinkCompression compression = LinkCompression::kNone;
  bool profile = false;  // the client requests the costs
  bool measure = false;  // for the worker's load report
  // True if waking a thread would take about as long as the work.
  bool at_once = false;
  bool beside = false;   // see PlanTraits
  bool by_rank = false;  // the rows are ordered by rank (Piece::ByRank)
  // Bytes per second of the link, as reported by its reader; 0: unknown.
  uint64_t link_rate = 0;
  bool trace = false;  // the times of the task are wanted
  // Positions that run soon, in this order, and were not announced before.
  std::vector<PositionRange> soon{};
  // A generator's state that the client sent, or null.
  GeneratorStatePtr state{};
};

// Thread time of a task.
struct TaskCost {
  absl::Duration busy;              // in all
  absl::Duration announced_wait{};  // of it, waits for announced bytes
  bool beside = false;              // PlanTraits::beside from now on

  // Time for which to plan: announced waits of many positions overlap, so that
  // each costs a part of the time only.
  absl::Duration Planned() const { return busy - announced_wait * 15 / 16; }
};

// When and where a task ran.
struct TaskTimes {
  absl::Time begin;
  absl::Time end;
  uint32_t thread = 0;
};

// A task that was requested and has not ended.
struct ComputeTask {
  SplitId split;
  PlanId plan;
  Cursor begin;
  Cursor end;
  uint64_t expected_bytes = 0;
  double expected_cost = 0;          // thread nanoseconds
  uint32_t weight = kDefaultWeight;  // of its job when it began
  bool at_once = false;
  bool beside = false;
  uint64_t places = 1;  // of those that threads have for tasks
  // Key of the pieces if several ranks share them.
  std::optional<SharedResults::Key> shared_key{};
  uint64_t ranks = 1;
  uint64_t trace = 0;  // 0: not traced
  Attempt attempt{};   // of the lease that is traced
  absl::Time started{};
  bool stopped = false;  // by WorkerEffects::stop
};

// Actions for the shell after a call: start work, then send.
struct WorkerEffects {
  std::vector<Outgoing> sends;
  // For each Frame of `sends`, in order: dropped when the transport has sent or
  // lost the frame, on the agent's thread and before the agent.
  std::vector<std::shared_ptr<const void>> unsent;
  std::vector<PlanDefinition> define;  // compile these; failures: OnDefined
  std::vector<PlanId> forget;          // plans that no lease needs
  std::vector<PlanId> rest;  // plans without a lease: nothing runs ahead
  std::vector<ComputeRequest> compute;  // each answered by one OnComputed
  std::vector<TaskId> stop;  // no stream waits for these; they are answered
  std::vector<ManifestRequest> resolve;  // each answered by one OnResolved
  // Fingerprints of `resolve` that the dispatcher does not ask for any more.
  std::vector<std::string> stop_resolving;
  bool drained = false;  // the process may exit
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_COMPUTE_TASK_H_
