#include "broker/dispatcher.h"

#include <utility>
#include <variant>

#include "broker/admission.h"
#include "broker/answer_writer.h"
#include "broker/dataset_requests.h"
#include "broker/dispatcher_context.h"
#include "broker/fleet.h"
#include "broker/fleet_scale.h"
#include "broker/fleet_use.h"
#include "broker/job_traces.h"
#include "broker/job_verdicts.h"
#include "broker/lease_scheduler.h"
#include "broker/manifest_requests.h"
#include "broker/pass_settler.h"
#include "broker/python_fleet.h"
#include "broker/run_lifecycle.h"
#include "broker/sessions.h"
#include "broker/split_binder.h"
#include "broker/split_reports.h"
#include "broker/status_report.h"
#include "core/base/status.h"

namespace feedmill {

// A part uses only the context and parts above it.
struct Dispatcher::Parts : DispatcherContext {
  LeaseReach reach{};

  // ---- runs
  ManifestRequests manifests{*this};
  PythonFleet pythons;
  SplitBinder binder{*this};
  PassSettler settler;
  RunLifecycle runs{*this, manifests, pythons, binder, settler};
  SplitReports reports{*this};
  LeaseScheduler scheduler;

  // ---- reports to operators
  JobVerdicts verdicts{*this, manifests, settler};
  JobTraces traces{*this, verdicts};
  FleetScale scale{*this, verdicts};
  StatusReport report{*this, verdicts, scale};

  // ---- messages
  AnswerWriter answers{*this, manifests, pythons, settler, traces};
  Admission admission{*this, settler};
  Sessions sessions{*this, admission, binder, settler,
                    runs,  reports,   traces, answers};
  Fleet fleet{*this, manifests, pythons, runs, reports, traces};
  DatasetRequests datasets{*this};

  Parts(const DispatcherSettings& its_settings, Planner its_planner,
        std::unique_ptr<const DeliveryRules> its_rules,
        DispatcherState its_state, absl::Time now);
};

Dispatcher::Parts::Parts(const DispatcherSettings& its_settings,
                         Planner its_planner,
                         std::unique_ptr<const DeliveryRules> its_rules,
                         DispatcherState its_state, absl::Time now)
    : DispatcherContext(its_settings, std::move(its_planner),
                        std::move(its_rules), std::move(its_state), now),
      pythons(*this, state->jobs.empty() ? now : now + settings.restart_grace),
      settler(*this, binder, now),
      scheduler(*this,
                state->jobs.empty() ? now : now + settings.restart_grace) {
  scale.Restore(now);
  // After a restart all readers and ranks count as heard now, but for the
  // silence that earlier lives noted.
  for (const auto& [name, job] : state->jobs) {
    runs.Restore(job);
    ranks.NoteAll(now, job);
    settler.NoteRestart(now, job);
    for (const auto& [consumer, session] : job.sessions) {
      const absl::Duration timeout = clock.ClientTimeout(job);
      readers.NoteHeard({name, consumer}, PeerId(),
                        now - timeout / kSilenceMax * session.silence);
      binder.Restore(now, job, session);
    }
  }
}

Dispatcher::Dispatcher(DispatcherSettings settings, Planner planner,
                       DispatcherState state, absl::Time now,
                       std::unique_ptr<const DeliveryRules> rules)
    : parts_(std::make_unique<Parts>(settings, std::move(planner),
                                     std::move(rules), std::move(state), now)) {
}

Dispatcher::~Dispatcher() = default;

// ---- messages

namespace {

const Seen* SeenOf(const Message& message) {
  if (const auto* hello = std::get_if<ClientHello>(&message)) {
    return &hello->seen;
  }
  if (const auto* beat = std::get_if<ClientBeat>(&message)) return &beat->seen;
  if (const auto* beat = std::get_if<WorkerBeat>(&message)) return &beat->seen;
  return nullptr;
}

// Answers a message after the store lost events that peers have seen.
void RefuseAsBehind(const absl::Status& behind, const PeerId& from,
                    const Message& message, Outbox& outbox) {
  if (const auto* hello = std::get_if<ClientHello>(&message)) {
    outbox.Reject(from, hello->job, hello->session, RejectReason::kRefused,
                  behind);
  } else if (const auto* beat = std::get_if<ClientBeat>(&message)) {
    outbox.Reject(from, beat->job, beat->session, RejectReason::kRefused,
                  behind);
  } else if (!std::holds_alternative<Refusal>(message)) {
    outbox.Send(from, Refusal{behind});
  }
}

}  // namespace

// Passes a message to the part that handles it.
class Dispatcher::Router {
 public:
  Router(Parts& parts, absl::Time now, const PeerId& from)
      : parts_(parts), now_(now), from_(from) {}

  void operator()(const ClientHello& m) const {
    parts_.sessions.Take(now_, from_, m);
  }
  void operator()(const ClientBeat& m) const {
    parts_.sessions.Take(now_, from_, m);
  }
  void operator()(const ClientLeave& m) const {
    parts_.sessions.Take(now_, from_, m);
  }
  void operator()(const WorkerBeat& m) const {
    parts_.fleet.Take(now_, from_, m);
  }
  void operator()(const StatusRequest& m) const {
    StatusReply reply;
    if (m.trace.has_value()) {
      reply.trace = parts_.traces.Answer(now_, *m.trace);
    } else {
      reply.json = parts_.report.StatusJson(now_, m.events);
    }
    parts_.outbox.Send(from_, std::move(reply));
  }
  void operator()(const DatasetRequest& m) const {
    parts_.datasets.Take(from_, m);
  }
  void operator()(const Refusal&) const {}  // an answer could start a loop
  void operator()(const ClientAnswer&) const { Refuse("a client answer"); }
  void operator()(const ClientReject&) const { Refuse("a client reject"); }
  void operator()(const WorkerAnswer&) const { Refuse("a worker answer"); }
  void operator()(const StatusReply&) const { Refuse("a status reply"); }
  void operator()(const DatasetReply&) const { Refuse("a dataset reply"); }
  void operator()(const Grant&) const { Refuse("a grant"); }
  void operator()(const ShareRequest&) const { Refuse("a share request"); }
  void operator()(const ShareOffer&) const { Refuse("a share offer"); }
  void operator()(const Frame&) const { Refuse("a frame"); }
  void operator()(const Relay&) const { Refuse("a relayed message"); }

 private:
  void Refuse(const char* what) const {
    parts_.outbox.Send(from_,
                       Refusal{InvalidArgument(
                           "this is a dispatcher, it cannot take {}; check "
                           "the address that it was sent to",
                           what)});
  }

  Parts& parts_;
  const absl::Time now_;
  const PeerId& from_;
};

DispatcherEffects Dispatcher::Handle(absl::Time now,
                                     std::span<const Incoming> messages) {
  for (const Incoming& incoming : messages) {
    Take(now, incoming.from, incoming.message);
  }
  return Finish(now);
}

DispatcherEffects Dispatcher::Handle(absl::Time now, const PeerId& from,
                                     const Message& message) {
  Take(now, from, message);
  return Finish(now);
}

void Dispatcher::Take(absl::Time now, const PeerId& from,
                      const Message& message) {
  Parts& parts = *parts_;
  parts.clock.NoteMessage(now);
  if (const Seen* seen = SeenOf(message); seen != nullptr) {
    const bool other = seen->journal != parts.state->journal;
    if (other && seen->journal != JournalId()) parts.settler.NoteOtherStore();
    parts.state.Compare(*seen);
  }
  const auto* const status = std::get_if<StatusRequest>(&message);
  if (!behind().ok() && (status == nullptr || status->trace.has_value())) {
    RefuseAsBehind(behind(), from, message, parts.outbox);
  } else {
    std::visit(Router(parts, now, from), message);
  }
}

DispatcherEffects Dispatcher::Finish(absl::Time now) {
  Parts& parts = *parts_;
  parts.scheduler.Fill(now);
  const std::vector<SplitId> changed = parts.leases.TakeChangedSplits();
  if (!parts.traces.empty()) parts.traces.NoteChanges(now, changed);
  const SessionKey* last = nullptr;  // successive splits often have one owner
  for (const SplitId& id : changed) {
    const SplitState* split = state().FindSplit(id);
    if (split == nullptr || (last != nullptr && *last == split->owner))
      continue;
    last = &parts.outbox.AnswerSession(split->owner);
  }
  for (const WorkerId& id : parts.leases.TakeChangedWorkers()) {
    parts.outbox.AnswerWorker(id);
  }
  parts.answers.AnswerAll(now);
  DispatcherEffects effects;
  effects.events = parts.state.TakeEvents();
  effects.after = parts.state.seen().sequence;
  effects.notes = parts.log.TakeNotes(now);
  effects.workers_wanted = parts.scale.TakeChange();
  effects.sends = parts.outbox.Take();
  return effects;
}

// ---- time

absl::Time Dispatcher::NextDeadline() const {
  return parts_->clock.NextDeadline();
}

DispatcherEffects Dispatcher::OnTick(absl::Time now) {
  Parts& parts = *parts_;
  parts.clock.NoteTick(now);
  if (!behind().ok()) return {};
  const bool may_judge = parts.clock.MayJudge(now);
  if (may_judge) parts.fleet.LoseSilent(now);
  if (!parts.manifests.empty()) parts.runs.AssignManifests(now);
  parts.scheduler.RetryHeads(now);
  if (may_judge) parts.sessions.ReleaseSilent(now);
  if (may_judge) parts.settler.SettleWithoutSilent(now);
  parts.fleet.SetAsideFaulty(now);
  parts.verdicts.Look(now);
  parts.scale.Look(now);
  if (!parts.traces.empty()) parts.traces.EndDue(now);
  return Finish(now);
}

void Dispatcher::OnPeerGone(const PeerId& peer) {
  parts_->fleet.NotePeerGone(peer);
}

// ---- the journal

void Dispatcher::NoteSynced(uint64_t sequence, absl::Duration delay) {
  parts_->state.NoteSynced(sequence);
  parts_->reach.Add(delay);
  parts_->leases.SetReach(parts_->reach.Of(parts_->settings.split_time));
}

const absl::Status& Dispatcher::behind() const {
  return parts_->state.behind();
}

const DispatcherState& Dispatcher::state() const { return *parts_->state; }

// ---- operators

Dispatcher::OperatorAnswer Dispatcher::DrainWorker(absl::Time now,
                                                   const std::string& address,
                                                   bool drains) {
  if (!behind().ok()) return {behind(), {}};
  absl::Status status = parts_->fleet.Drain(now, address, drains);
  if (!status.ok()) return {std::move(status), {}};
  return {absl::OkStatus(), Finish(now)};
}

Dispatcher::OperatorAnswer Dispatcher::CancelJob(absl::Time now,
                                                 const JobName& name) {
  if (!behind().ok()) return {behind(), {}};
  const JobState* job = state().FindJob(name);
  if (job == nullptr) {
    return {NotFound("there is no job '{}'", name.value()), {}};
  }
  if (job->over()) {
    return {FailedPrecondition("job '{}' is over", name.value()), {}};
  }
  parts_->runs.Fail(name,
                    Cancelled("an operator cancelled job '{}'", name.value()));
  return {absl::OkStatus(), Finish(now)};
}

const PeerId* Dispatcher::AddressOf(const WorkerId& worker) const {
  return parts_->fleet.AddressOf(worker);
}

std::string Dispatcher::StatusJson(absl::Time now) const {
  return parts_->report.StatusJson(now);
}

std::string Dispatcher::EventsJson(absl::Time now) const {
  return parts_->report.EventsJson(now);
}

std::string Dispatcher::WaitsFor(const JobState& job) const {
  return parts_->verdicts.WaitsFor(job);
}

void Dispatcher::NoteTransport(const TransportFaults& faults) {
  parts_->report.NoteTransport(faults);
}

void Dispatcher::NoteShell(const ShellLoad& load) {
  parts_->verdicts.NoteShell(load);
}

void Dispatcher::NoteSlowSync(absl::Duration took) {
  parts_->log.JournalWasSlow(took);
}

std::optional<ExportedRun> Dispatcher::PresentRun(const JobName& name) const {
  const JobState* job = state().FindJob(name);
  if (job == nullptr) return std::nullopt;
  return ExportedRun{job->graph, job->seed, job->iteration};
}

std::optional<Verdict> Dispatcher::JudgeJob(absl::Time now,
                                            const JobName& name) const {
  const JobState* job = state().FindJob(name);
  if (job == nullptr) return std::nullopt;
  return parts_->verdicts.Reported(now, *job,
                                   FleetUse::Of(parts_->leases, now));
}

DispatcherSnapshot Dispatcher::Snapshot(absl::Time now) const {
  return parts_->report.Snapshot(now);
}

}  // namespace feedmill
