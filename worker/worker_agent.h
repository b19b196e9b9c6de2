#ifndef FEEDMILL_WORKER_WORKER_AGENT_H_
#define FEEDMILL_WORKER_WORKER_AGENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/agent_context.h"
#include "worker/compute_schedule.h"
#include "worker/compute_task.h"
#include "worker/early_grants.h"
#include "worker/piece_delivery.h"

namespace feedmill {

// The worker's state machine: takes the dispatcher's leases and the clients'
// grants, and sends heartbeats. ComputeSchedule chooses what is computed,
// PieceDelivery brings the results to the streams and sends them. Pure.
//
// Thread: the worker's reactor only. A stream: open ⇄ blocked (no credit: its
// memory may be taken) ⇄ parked (no grant for park_after); ends with its lease.
class WorkerAgent {
 public:
  explicit WorkerAgent(WorkerAgentSettings settings,
                       std::unique_ptr<const StreamRules> rules =
                           std::make_unique<StreamRules>());
  WorkerAgent(const WorkerAgent&) = delete;
  WorkerAgent& operator=(const WorkerAgent&) = delete;

  WorkerEffects Handle(absl::Time now, const PeerId& from,
                       const Message& message);
  WorkerEffects OnTick(absl::Time now);
  // A task ended. `packed`: the packed parts, if any.
  // `costs`: of its steps, if requested. `times`: if requested.
  WorkerEffects OnComputed(absl::Time now, TaskId id,
                           absl::StatusOr<Piece> piece, const TaskCost& cost,
                           std::shared_ptr<const PackedParts> packed = nullptr,
                           StepCosts costs = nullptr,
                           std::optional<TaskTimes> times = std::nullopt);
  // A definition was compiled, or failed; then the plan's leases fail with
  // `status`.
  WorkerEffects OnDefined(absl::Time now, const PlanId& plan,
                          absl::Status status, PlanTraits traits = {});
  WorkerEffects OnResolved(absl::Time now, ManifestResult result);
  // The transport has sent or lost frames: WorkerEffects::unsent were dropped.
  // Need not be called before awaits_transport() is true.
  WorkerEffects OnSent(absl::Time now);
  bool awaits_transport() const { return context_.unsent.awaited(); }
  // Registers under `worker` at the next tick: no heartbeat is sent before the
  // worker has a name. With another name the worker is a new one: it drops all
  // leases. `incarnation` must be higher than the last one.
  WorkerEffects TakeName(absl::Time now, WorkerId worker,
                         Incarnation incarnation);
  // Drains the worker: takes no new leases and finishes or returns the present
  // ones. Drained when no lease is left, or when no dispatcher answers and no
  // reader waits.
  WorkerEffects Drain(absl::Time now);

  // See LoadReport::NoteCacheFaults.
  void NoteCacheFaults(uint64_t faults, std::string first) {
    context_.load.NoteCacheFaults(faults, std::move(first));
  }
  // See FrameSizes::in_place.
  void ReadInPlace(bool in_place) { schedule_.ReadInPlace(in_place); }

  // Number of workers that take leases; 0: not known.
  uint32_t workers() const { return workers_; }

  // Time at which OnTick has to be called.
  absl::Time NextDeadline() const {
    return HasName() ? context_.clock.next_beat() : absl::InfiniteFuture();
  }

  // Maximum time in which a healthy dispatcher answers.
  absl::Duration AnswerDue() const { return 8 * context_.clock.interval(); }

  // Element bytes computed and not sent by the transport; pieces shared by
  // ranks count once. At most memory_bytes, two positions per head, and the
  // estimation error of running tasks.
  uint64_t buffered_bytes() const { return context_.used_bytes; }
  size_t lease_count() const { return context_.leases.size(); }
  // Present state of threads, memory and streams, for metrics. Step costs: of
  // measured tasks since each plan was defined. Without plans that no lease has
  // needed for two minutes.
  WorkerLoad Load(absl::Time now) const;

 private:
  void OnAnswer(absl::Time now, const WorkerAnswer& answer);
  void TakeDefinitions(const WorkerAnswer& answer);
  void TakeLeases(absl::Time now, const WorkerAnswer& answer);
  void TakeManifestRequests(const WorkerAnswer& answer);
  void ForgetPlans();
  void OnGrant(absl::Time now, const PeerId& from, const Grant& grant);
  bool HasName() const { return !context_.settings.worker.value().empty(); }
  WorkerEffects TakeEffects() { return std::exchange(context_.effects, {}); }
  bool Abandoned(absl::Time now) const;
  uint32_t LeasesBeside() const;
  uint32_t CompleteLeases() const;
  void Beat(absl::Time now);

  AgentContext context_;
  PieceDelivery delivery_{context_};
  ComputeSchedule schedule_{context_, delivery_};
  Seen seen_;
  absl::Time last_answer_ = absl::InfinitePast();
  bool draining_ = false;
  uint32_t complete_sent_ = 0;  // as in the last heartbeat
  bool python_known_ = false;   // the dispatcher has settings.python
  uint32_t workers_ = 0;        // see WorkerAnswer
  EarlyGrants early_;
  struct AskedManifest {
    std::optional<ManifestResult> result{};  // nullopt while it is resolved
    bool stopped = false;                    // it was not asked for any more
  };
  std::map<std::string, AskedManifest> manifests_;  // by fingerprint
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_WORKER_AGENT_H_
