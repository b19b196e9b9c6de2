#include <algorithm>
#include <utility>

#include "broker/dispatcher.h"
#include "core/base/status.h"

// The dispatcher's handlers of worker messages.

namespace feedmill {
namespace {

constexpr uint32_t kWorkerSlotsMax = 4'096;  // of one worker
constexpr size_t kPlansMax = 10'000;         // definitions that one worker has
constexpr uint32_t kUnansweredMax = 3;       // beats in a row

// `status` of a worker that looked for files, as readers get it.
absl::Status WithWorker(const absl::Status& status, const WorkerId& worker) {
  absl::Status out = Annotate(status, "worker " + worker.value());
  if (!absl::IsNotFound(status)) return out;
  return NotFound(
      "{}; workers read the files, so each machine of a worker needs them at "
      "this same absolute path (a shared folder, say)",
      ErrorText(out));
}

}  // namespace

const PeerId* Dispatcher::AddressOf(const WorkerId& worker) const {
  const auto found = table_.workers().find(worker);
  return found == table_.workers().end() ? nullptr : &found->second.address;
}

void Dispatcher::On(absl::Time now, const PeerId& from,
                    const WorkerBeat& beat) {
  KnownWorker* worker = table_.FindWorker(beat.worker);
  if (worker != nullptr && beat.incarnation < worker->incarnation) {
    return;  // a late message of an earlier process
  }
  if (worker != nullptr && beat.incarnation > worker->incarnation) {
    LoseWorker(beat.worker, /*died=*/true,
               "another process with its address took its place");
    worker = nullptr;
  }
  LoseRenamed(from, beat.worker);
  const bool joined = worker == nullptr;
  if (joined && (beat.worker.value().empty() ||
                 table_.workers().size() >= settings_.workers_max)) {
    return Send(from, Refusal{ResourceExhausted(
                          "worker '{}' cannot join: it has no address, or "
                          "there are {} workers already",
                          beat.worker.value(), table_.workers().size())});
  }
  if (joined) {
    worker = &table_.AddWorker(beat.worker, beat.incarnation);
    NoteJoined(beat);
  }
  const bool moved = worker->address != from;
  if (moved) {
    worker_at_.erase(worker->address);
    worker_at_.insert_or_assign(from, beat.worker);
    worker->address = from;
  }
  worker->heard = now;
  worker->gone = false;
  std::set<PlanId> plans(
      beat.plans.begin(),
      beat.plans.begin() +
          static_cast<ptrdiff_t>(std::min(beat.plans.size(), kPlansMax)));
  const uint32_t slots = std::min(beat.slots, kWorkerSlotsMax);
  const bool draining = beat.draining || worker->drain_asked;
  const bool changed =
      joined || slots != worker->slots || draining != worker->draining;
  const bool drains = draining && !worker->draining;
  if (changed) table_.SetCapacity(beat.worker, slots, draining);
  if (drains) NoteDrains(beat.worker, *worker);
  const bool news =
      changed || moved || plans != worker->plans || WantsAnswer(*worker, beat);
  worker->plans = std::move(plans);
  if (news || worker->unanswered++ >= kUnansweredMax) {
    dirty_workers_.insert_or_assign(beat.worker, worker);
  }

  NoteComputed(*worker, beat.costs);
  if (beat.load.has_value()) TakeLoad(now, *worker, *beat.load);
  if (!beat.spans.empty()) TakeSpans(now, beat);
  for (const HeldLease& held : beat.leases) {
    table_.Adopt(beat.worker, held.split, held.attempt);
  }
  for (const PlanCost& cost : beat.costs) {
    const auto it = plans_.find(cost.plan);
    if (it == plans_.end()) continue;
    it->second.cost.Add(cost.positions, cost.bytes, cost.busy);
  }
  for (const LeaseFailure& failure : beat.failures) {
    TakeFailure(beat.worker, failure);
  }
  for (const ManifestResult& result : beat.manifests) {
    if (result.status.ok()) {
      TakeManifest(now, result);
    } else {
      TakeManifest(now, {result.graph_fingerprint,
                         WithWorker(result.status, beat.worker), ""});
    }
  }
  if (changed) {
    GrowRuns();
    AssignResolutions();
    BindAll(now);
  }
}

// Drops the former worker of a peer whose name changed with its address: a peer
// is one worker.
void Dispatcher::LoseRenamed(const PeerId& from, const WorkerId& name) {
  const auto it = worker_at_.find(from);
  if (it == worker_at_.end() || it->second == name) return;
  const WorkerId former = it->second;
  LoseWorker(former, /*died=*/false,
             fmt::format("it has the address {} now", name.value()));
}

// True if the beat needs an answer. Thousands of idle workers beat only to show
// that they live, and most of these beats need none.
bool Dispatcher::WantsAnswer(const KnownWorker& worker,
                             const WorkerBeat& beat) const {
  const bool idle = worker.leases.empty() && worker.resolving.empty() &&
                    !worker.draining && beat.leases.empty() &&
                    beat.costs.empty() && beat.failures.empty() &&
                    beat.manifests.empty();
  const absl::Duration drift = absl::AbsDuration(worker.interval - Interval());
  return !idle || beat.seen.journal != state_.journal ||
         drift > worker.interval / 4;
}

void Dispatcher::TakeFailure(const WorkerId& worker,
                             const LeaseFailure& failure) {
  if (!table_.Fail(worker, failure.split, failure.attempt)) return;
  ++faults_.leases_failed;
  const bool last =
      table_.Find(failure.split)->failures >= settings_.attempts_max;
  NoteAttempt(worker, failure, last);
  if (!last) return;
  absl::Status status = failure.status;
  if (status.ok()) status = Internal("the worker gave no reason");
  if (absl::IsNotFound(status) || absl::IsFailedPrecondition(status)) {
    status = WithWorker(status, worker);
  }
  table_.Remove(failure.split);
  ++faults_.splits_failed;
  Commit(SplitFailed{failure.split, std::move(status)});
}

void Dispatcher::TakeManifest(absl::Time now, const ManifestResult& result) {
  const auto it = resolutions_.find(result.graph_fingerprint);
  if (it == resolutions_.end()) return;  // another worker was faster
  const std::set<JobName> jobs = it->second.jobs;
  for (const JobName& name : jobs) {
    if (!result.status.ok()) {
      FailRun(name, result.status);
      continue;
    }
    Commit(ManifestKnown{name, result.manifest});
    StopAwaiting(*state_.FindJob(name));
    PlanRun(now, name);
    if (runs_.contains(name)) BindJob(now, name);
  }
}

void Dispatcher::OnPeerGone(const PeerId& peer) {
  const auto it = worker_at_.find(peer);
  if (it != worker_at_.end()) table_.FindWorker(it->second)->gone = true;
}

void Dispatcher::LoseWorker(const WorkerId& id, bool died,
                            const std::string& why) {
  const KnownWorker& worker = *table_.FindWorker(id);
  NoteLost(id, worker, why);
  for (const std::string& fingerprint : worker.resolving) {
    resolutions_.at(fingerprint).worker.reset();
  }
  died = died && !worker.draining;
  faults_.workers_lost += worker.draining ? 0 : 1;
  faults_.workers_died += died ? 1 : 0;
  const std::set<SplitId> had = worker.leases;
  std::vector<SplitId> blamed;
  for (const SplitId& id_of : had) {
    const SplitState& split = *state_.FindSplit(id_of);
    if (!died) continue;
    const uint32_t deaths = table_.NoteDeath(id_of, id, split.taken, split.end);
    if (deaths >= settings_.deaths_alone_max) blamed.push_back(id_of);
  }
  worker_at_.erase(worker.address);
  dirty_workers_.erase(id);
  table_.DropWorker(id);
  for (const SplitId& split : had) Advance(split);
  for (const SplitId& split : blamed) Blame(split);
}

void Dispatcher::Advance(const SplitId& id) {
  const SplitState* split = state_.FindSplit(id);
  if (split != nullptr) table_.Advance(id, split->taken, split->end);
}

// Skips or fails the next position of this split, because workers died while
// they ran it and nothing else.
void Dispatcher::Blame(const SplitId& id) {
  const SplitState& split = *state_.FindSplit(id);
  const JobState& job = *state_.FindJob(split.owner.job);
  PositionName name{fmt::format("position {}", split.taken.p)};
  if (planner_.name_position) {
    name = planner_.name_position(RunGraph(job), job.manifest, job.seed,
                                  job.iteration, split.taken.p);
  }
  std::string why = fmt::format(
      "{} kills the workers that read it: one after another died with it, at "
      "last while it ran nothing else; look at their logs, and take it out of "
      "the data",
      name.text);
  if (name.skips) {
    effects_.notes.push_back({.kind = NoteKind::kSkipped,
                              .warning = true,
                              .text = why,
                              .job = split.owner.job.value(),
                              .logged = false});
    table_.Skip(id, {split.taken, std::move(name.records), std::move(why)});
    dirty_sessions_.insert(split.owner);
    return;
  }
  table_.Remove(id);
  ++faults_.splits_failed;
  Commit(SplitFailed{id, DataLoss("{}", why)});
}

// Assigns each graph without a manifest to one worker, which lists its files.
// The worker with the fewest such requests is chosen.
void Dispatcher::AssignResolutions() {
  for (auto& [fingerprint, resolution] : resolutions_) {
    if (resolution.worker.has_value()) continue;
    const WorkerId* least = nullptr;
    size_t fewest = 0;
    for (const auto& [id, worker] : table_.workers()) {
      if (worker.draining) continue;
      if (least != nullptr && worker.resolving.size() >= fewest) continue;
      least = &id;
      fewest = worker.resolving.size();
    }
    if (least == nullptr) return;
    resolution.worker = *least;
    KnownWorker* const worker = table_.FindWorker(*least);
    worker->resolving.insert(fingerprint);
    dirty_workers_.insert_or_assign(*least, worker);
  }
}

}  // namespace feedmill
