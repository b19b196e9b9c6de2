#ifndef FEEDMILL_BROKER_DISPATCHER_H_
#define FEEDMILL_BROKER_DISPATCHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/delivery_rules.h"
#include "broker/dispatcher_snapshot.h"
#include "broker/dispatcher_state.h"
#include "broker/operator_log.h"
#include "broker/planner.h"
#include "broker/verdict.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Effects that the shell carries out after a call. It journals `events` and
// logs `notes`. It sends `sends` when event number `after` and all before it
// are on disk. Events that satisfy MayBeLate are not counted in `after`.
struct DispatcherEffects {
  std::vector<DispatcherEvent> events;
  uint64_t after = 0;
  std::vector<DispatcherNote> notes;
  // Set if the wanted number of workers changed.
  std::optional<uint64_t> workers_wanted{};
  std::vector<Outgoing> sends;
};

// The broker's state machine: jobs, runs, sessions, splits and leases. It
// passes each message to the part that is responsible for it; the parts are
// listed in dispatcher.cc. Pure: no clock, socket, thread, file or randomness.
// Protocol: PROTOCOL.md and tests/model/README.md.
//
// Thread: the broker's reactor only. States of a split: unbound → bound →
// leased (1 or 2 attempts) → served → ended.
//
// Every change is sent at once: a call returns one full set for each peer whose
// bindings or leases changed. Workers come before clients, so that a worker has
// its lease when the client's grant arrives. The cost of a call grows with its
// changes; only OnTick visits every peer. Handle messages that arrive together
// in one call, so that each peer gets one answer.
class Dispatcher {
 public:
  // `state`: rebuilt from the journal by replay, or empty for a new journal.
  Dispatcher(DispatcherSettings settings, Planner planner,
             DispatcherState state, absl::Time now,
             std::unique_ptr<const DeliveryRules> rules =
                 std::make_unique<DeliveryRules>());
  ~Dispatcher();

  struct Incoming {
    PeerId from;
    Message message;
  };
  DispatcherEffects Handle(absl::Time now, std::span<const Incoming> messages);
  DispatcherEffects Handle(absl::Time now, const PeerId& from,
                           const Message& message);
  DispatcherEffects OnTick(absl::Time now);
  // Call if the peer's connection has ended. A peer that is silent afterwards
  // counts as dead. A peer that is silent on an open connection may be frozen
  // or cut off.
  void OnPeerGone(const PeerId& peer);
  // Call when the events up to number `sequence` are on disk. Later answers
  // report that to peers. `delay`: time from the last call of which events were
  // synced until then. If the delays are long, splits are bound and leased
  // further ahead.
  void NoteSynced(uint64_t sequence, absl::Duration delay);
  // OK, or DataLoss if a peer has seen events of this journal that are not in
  // it. The dispatcher then serves no peer any more.
  const absl::Status& behind() const;
  // Time of the next necessary OnTick; InfiniteFuture if none is necessary.
  absl::Time NextDeadline() const;

  const DispatcherState& state() const;
  // Returns the address of a worker; null if the worker is unknown.
  const PeerId* AddressOf(const WorkerId& worker) const;
  // Returns the data of `feedmill status`: {jobs, workers, totals, faults,
  // events}.
  std::string StatusJson(absl::Time now) const;
  // Returns the last events, oldest first: [{id, age_s, kind, warning, text,
  // …}].
  std::string EventsJson(absl::Time now) const;

  // ---- requests of operators
  struct OperatorAnswer {
    absl::Status status;
    DispatcherEffects effects;
  };
  // With `drains`, gives the worker no new splits until a call without
  // `drains`. A restart of the worker or of the dispatcher ends the drain, too.
  // NotFound: there is no worker with that address.
  OperatorAnswer DrainWorker(absl::Time now, const std::string& address,
                             bool drains);
  // Ends the run of a job; its readers get the error Cancelled. NotFound: there
  // is no such job; FailedPrecondition: it is over.
  OperatorAnswer CancelJob(absl::Time now, const JobName& name);

  // Returns the cause for which a job that is not over waits, e.g. "rank 1 of
  // 2". "" if the job waits only for its workers and readers.
  std::string WaitsFor(const JobState& job) const;
  void NoteTransport(const TransportFaults& faults);
  void NoteShell(const ShellLoad& load);
  // A sync of the journal took long. The next call returns a note of it.
  void NoteSlowSync(absl::Duration took);
  // Returns the bound of the job's rate, from the reports of the last five
  // seconds. Nullopt if there is no such job.
  std::optional<Verdict> JudgeJob(absl::Time now, const JobName& name) const;
  // Returns the present run of a job. Nullopt if there is no such job.
  std::optional<ExportedRun> PresentRun(const JobName& name) const;
  // For metrics.
  DispatcherSnapshot Snapshot(absl::Time now) const;

 private:
  struct Parts;
  class Router;

  void Take(absl::Time now, const PeerId& from, const Message& message);
  DispatcherEffects Finish(absl::Time now);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCHER_H_
