#include "broker/fleet.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "broker/fleet_use.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr uint32_t kWorkerSlotsMax = 4'096;  // of one worker
constexpr size_t kPlansMax = 10'000;         // definitions that one worker has
constexpr size_t kPlansCounted = 1'000;      // of a worker, for operators
constexpr uint32_t kUnansweredMax = 3;       // heartbeats in a row

void NoteComputed(KnownWorker& worker, const std::vector<PlanCost>& costs) {
  if (worker.computed.size() > kPlansCounted) worker.computed.clear();
  for (const PlanCost& cost : costs) {
    worker.computed[cost.plan] += cost.positions;
  }
}

std::set<PlanId> PlansOf(const WorkerBeat& beat) {
  const auto count =
      static_cast<ptrdiff_t>(std::min(beat.plans.size(), kPlansMax));
  return {beat.plans.begin(), beat.plans.begin() + count};
}

}  // namespace

const PeerId* Fleet::AddressOf(const WorkerId& worker) const {
  const auto found = context_.leases.workers().find(worker);
  return found == context_.leases.workers().end() ? nullptr
                                                  : &found->second.address;
}

// ---- beat

void Fleet::Take(absl::Time now, const PeerId& from, const WorkerBeat& beat) {
  KnownWorker* worker = context_.leases.FindWorker(beat.worker);
  if (worker != nullptr && beat.incarnation < worker->incarnation) {
    return;  // a late message of an earlier process
  }
  if (worker != nullptr && beat.incarnation > worker->incarnation) {
    Lose(beat.worker, /*died=*/true,
         "another process with its address took its place");
    worker = nullptr;
  }
  LoseRenamed(from, beat.worker);
  const bool joined = worker == nullptr;
  const size_t workers = context_.leases.workers().size();
  if (joined && (beat.worker.value().empty() ||
                 workers >= context_.settings.workers_max)) {
    return context_.outbox.Send(
        from,
        Refusal{ResourceExhausted("worker '{}' cannot join: it has no address, "
                                  "or there are {} workers already",
                                  beat.worker.value(), workers)});
  }
  if (joined) {
    worker = &context_.leases.AddWorker(beat.worker, beat.incarnation);
    pythons_.NoteJoin(now);
    context_.log.WorkerJoined(beat, workers + 1);
  }
  const bool moved = Move(beat.worker, *worker, from);
  worker->heard = now;
  worker->gone = false;
  worker->release = beat.release;
  std::set<PlanId> plans = PlansOf(beat);
  const bool described = pythons_.Take(beat, *worker);
  const bool changed = TakeCapacity(beat, *worker, joined || described);
  const bool news =
      changed || moved || plans != worker->plans || WantsAnswer(*worker, beat);
  worker->plans = std::move(plans);
  if (news || worker->unanswered++ >= kUnansweredMax) {
    context_.outbox.AnswerWorker(beat.worker, worker);
  }
  TakeWork(now, beat, *worker);
  if (changed) runs_.TakeFleetChange(now);
}

bool Fleet::Move(const WorkerId& id, KnownWorker& worker, const PeerId& to) {
  if (worker.address == to) return false;
  worker_at_.erase(worker.address);
  worker_at_.insert_or_assign(to, id);
  worker.address = to;
  return true;
}

// Returns true if the worker is `new_to_jobs`, or if its slots or its drain
// changed.
bool Fleet::TakeCapacity(const WorkerBeat& beat, KnownWorker& worker,
                         bool new_to_jobs) {
  const uint32_t slots = std::min(beat.slots, kWorkerSlotsMax);
  if (worker.set_aside && IsNeeded(beat.worker, worker)) {
    worker.set_aside = false;
    worker.faults = 0;
    context_.log.WorkerWorksAgain(beat.worker);
  }
  const bool draining = beat.draining || worker.drain_asked || worker.set_aside;
  const bool changed =
      new_to_jobs || slots != worker.slots || draining != worker.draining;
  const bool drains = draining && !worker.draining;
  if (changed) context_.leases.SetCapacity(beat.worker, slots, draining);
  if (drains) context_.log.WorkerDrains(beat.worker, worker);
  return changed;
}

// True if the heartbeat needs an answer. Thousands of idle workers send
// heartbeats only to show that they live, and most of these need none.
bool Fleet::WantsAnswer(const KnownWorker& worker,
                        const WorkerBeat& beat) const {
  const bool idle = worker.leases.empty() && worker.resolving.empty() &&
                    !worker.draining && beat.leases.empty() &&
                    beat.costs.empty() && beat.failures.empty() &&
                    beat.manifests.empty();
  const absl::Duration drift =
      absl::AbsDuration(worker.interval - context_.clock.Interval());
  return !idle || beat.seen.journal != context_.state->journal ||
         drift > worker.interval / 4;
}

// Takes a heartbeat: its loads, spans, leases, costs, failures, manifests.
void Fleet::TakeWork(absl::Time now, const WorkerBeat& beat,
                     KnownWorker& worker) {
  NoteComputed(worker, beat.costs);
  if (beat.load.has_value()) TakeLoad(now, beat.worker, worker, *beat.load);
  if (!beat.spans.empty()) traces_.TakeSpans(now, beat);
  context_.leases.SetComplete(beat.worker, beat.complete);
  worker.sequences = beat.sequences;
  for (const HeldLease& held : beat.leases) {
    context_.leases.Adopt(beat.worker, held.split, held.attempt);
  }
  for (const PlanCost& cost : beat.costs) context_.plans.AddCost(cost);
  for (const LeaseFailure& failure : beat.failures) {
    reports_.TakeFailure(beat.worker, failure);
  }
  for (const ManifestResult& result : beat.manifests) {
    if (result.status.ok()) {
      runs_.TakeManifest(now, result);
    } else {
      runs_.TakeManifest(now, {result.graph_fingerprint,
                               WithWorker(result.status, beat.worker), ""});
    }
  }
}

void Fleet::TakeLoad(absl::Time now, const WorkerId& name, KnownWorker& worker,
                     const WorkerLoad& load) {
  // The speed is computed from positions computed, not from elements sent: a
  // worker sends in bursts, when readers have credit.
  WorkerLoad computed = load;
  for (PlanLoad& each : computed.plans) {
    const auto positions = worker.computed.find(each.plan);
    each.elements = positions == worker.computed.end() ? 0 : positions->second;
  }
  const uint64_t faults = worker.window.last().cache_faults;
  if (load.cache_faults > faults) {
    context_.log.CachesFailed(name, load.cache_faults - faults,
                              load.cache_fault);
  }
  worker.window.Add(now, computed);
  for (const PlanLoad& each : load.plans)
    context_.plans.AddSteps(now, each, *context_.state);
}

// ---- drain and loss

absl::Status Fleet::Drain(absl::Time now, const std::string& address,
                          bool drains) {
  const WorkerId* id = nullptr;
  for (const auto& [each, worker] : context_.leases.workers()) {
    if (each.value() == address || WorkerName(each) == address) id = &each;
  }
  if (id == nullptr) return NotFound("there is no worker '{}'", address);
  const WorkerId name = *id;
  KnownWorker& worker = *context_.leases.FindWorker(name);
  if (worker.drain_asked == drains && (drains || !worker.set_aside)) {
    return absl::OkStatus();
  }
  if (worker.draining && drains && !worker.set_aside) {
    return FailedPrecondition("worker '{}' drains already", address);
  }
  worker.drain_asked = drains;
  worker.set_aside = false;
  worker.faults = 0;
  context_.leases.SetCapacity(name, worker.slots, drains);
  context_.log.OperatorDrains(name, drains);
  context_.outbox.AnswerWorker(name, &worker);
  runs_.TakeFleetChange(now);
  return absl::OkStatus();
}

// True if no other worker takes splits, or if a job has Python functions that
// no other one can run.
bool Fleet::IsNeeded(const WorkerId& id, const KnownWorker& worker) {
  const auto another_runs = [&](const PythonNeedsPtr& needs) {
    return std::any_of(context_.leases.workers().begin(),
                       context_.leases.workers().end(), [&](const auto& each) {
                         return each.first != id && !each.second.draining &&
                                each.second.slots > 0 &&
                                LeaseTable::CanRun(each.second, needs);
                       });
  };
  if (!another_runs(nullptr)) return true;
  if (worker.python == nullptr) return false;
  const auto only_here = [&](const PythonNeedsPtr& needs) {
    return needs != nullptr && LeaseTable::CanRun(worker, needs) &&
           !another_runs(needs);
  };
  for (const auto& [needs, jobs] : manifests_.Unassigned()) {
    if (only_here(needs)) return true;
  }
  return std::any_of(context_.state->jobs.begin(), context_.state->jobs.end(),
                     [&](const auto& each) {
                       const JobState& job = each.second;
                       return !job.sessions.empty() &&
                              only_here(context_.plans.PythonNeedsOf(job));
                     });
}

void Fleet::SetAsideFaulty(absl::Time now) {
  for (const WorkerId& id : reports_.TakeFaulty()) {
    KnownWorker* const worker = context_.leases.FindWorker(id);
    if (worker == nullptr || worker->draining) continue;
    if (IsNeeded(id, *worker)) continue;
    worker->set_aside = true;
    context_.leases.SetCapacity(id, worker->slots, true);
    context_.log.WorkerSetAside(id, *worker);
    context_.outbox.AnswerWorker(id, worker);
    runs_.TakeFleetChange(now);
  }
}

void Fleet::NotePeerGone(const PeerId& peer) {
  const auto it = worker_at_.find(peer);
  if (it != worker_at_.end())
    context_.leases.FindWorker(it->second)->gone = true;
}

// Drops the former worker of a peer whose name changed with its address: a peer
// is one worker.
void Fleet::LoseRenamed(const PeerId& from, const WorkerId& name) {
  const auto it = worker_at_.find(from);
  if (it == worker_at_.end() || it->second == name) return;
  const WorkerId former = it->second;
  Lose(former, /*died=*/false,
       fmt::format("it has the address {} now", name.value()));
}

void Fleet::Lose(const WorkerId& id, bool died, const std::string& why) {
  const KnownWorker& worker = *context_.leases.FindWorker(id);
  died = died && !worker.draining;
  context_.log.WorkerLost(id, worker, died, why,
                          context_.leases.workers().size());
  manifests_.Unassign(worker);
  worker_at_.erase(worker.address);
  context_.outbox.ForgetWorker(id);
  reports_.DropWorker(id, died);
}

// Visits the workers only if oldest_heard_ is too old, because there may be
// thousands of them.
void Fleet::LoseSilent(absl::Time now) {
  const absl::Time last = now - context_.clock.WorkerTimeout();
  if (oldest_heard_ >= last) return;
  oldest_heard_ = now;
  std::vector<WorkerId> lost;
  for (const auto& [id, worker] : context_.leases.workers()) {
    // The interval grows with the number of workers. A worker may still use a
    // long interval after others left.
    if (worker.heard < std::min(last, now - 4 * worker.interval)) {
      lost.push_back(id);
    } else {
      oldest_heard_ = std::min(oldest_heard_, worker.heard);
    }
  }
  for (const WorkerId& id : lost) {
    const KnownWorker& worker = *context_.leases.FindWorker(id);
    Lose(id, worker.gone,
         fmt::format("{} {:.1f} s ago",
                     worker.gone ? "its connection ended, and its last "
                                   "heartbeat came"
                                 : "its last heartbeat came",
                     absl::ToDoubleSeconds(now - worker.heard)));
  }
  if (!lost.empty()) runs_.AssignManifests(now);
}

}  // namespace feedmill
