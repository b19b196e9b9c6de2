#include <algorithm>

#include "broker/dispatcher.h"
#include "core/base/status.h"

// Load reports of peers, and the verdicts and metrics made of them. No decision
// of the dispatcher depends on them.

namespace feedmill {
namespace {

constexpr uint32_t kSourcePlace = 1;
constexpr size_t kPlansCounted = 1'000;  // of a worker

}  // namespace

void Dispatcher::TakeLoad(absl::Time now, const JobName& job,
                          Listener& listener, const ReaderLoad& load) {
  // Another life of a reader counts from zero.
  const bool anew = load.elapsed < listener.window.last().elapsed;
  const ReaderLoad before = anew ? ReaderLoad() : listener.window.last();
  JobTotals& totals = totals_[job.value().starts_with('@') ? JobName() : job];
  const auto rise = [](uint64_t last, uint64_t first) {
    return last < first ? 0 : last - first;
  };
  totals.elements += rise(load.elements, before.elements);
  totals.bytes += rise(load.bytes, before.bytes);
  const uint64_t skipped = rise(load.skipped, before.skipped);
  totals.skipped += skipped;
  if (skipped > 0) NoteSkipped(job, skipped, totals.skipped);
  totals.elapsed_s += absl::ToDoubleSeconds(load.elapsed - before.elapsed);
  totals.waited_s += absl::ToDoubleSeconds(load.waited - before.waited);
  totals.stage_s += absl::ToDoubleSeconds(load.stage - before.stage);
  listener.window.Add(now, load);
}

void Dispatcher::NoteComputed(KnownWorker& worker,
                              const std::vector<PlanCost>& costs) {
  if (worker.computed.size() > kPlansCounted) worker.computed.clear();
  for (const PlanCost& cost : costs) {
    worker.computed[cost.plan] += cost.positions;
  }
}

void Dispatcher::TakeLoad(absl::Time now, KnownWorker& worker,
                          const WorkerLoad& load) {
  // The speed is computed from positions computed, not from elements sent: a
  // worker sends in bursts, when readers have credit.
  WorkerLoad computed = load;
  for (PlanLoad& each : computed.plans) {
    const auto positions = worker.computed.find(each.plan);
    each.elements = positions == worker.computed.end() ? 0 : positions->second;
  }
  worker.window.Add(now, computed);
  for (const PlanLoad& each : load.plans) {
    const auto plan = plans_.find(each.plan);
    if (plan == plans_.end()) continue;
    for (const StepCost& cost : each.steps) plan->second.steps.Add(now, cost);
    if (!plan->second.places.empty() || !planner_.name_places) continue;
    if (plan->second.jobs.empty()) continue;
    const JobState* job = state_.FindJob(*plan->second.jobs.begin());
    if (job != nullptr) {
      plan->second.places = planner_.name_places(RunGraph(*job));
    }
  }
}

std::string Dispatcher::PlaceName(const PlanWork& plan, uint32_t place) const {
  if (place < plan.places.size() && !plan.places[place].empty()) {
    return plan.places[place];
  }
  return fmt::format("place {}", place);
}

VerdictInput::Reader Dispatcher::InputOf(absl::Time now, const SessionKey& key,
                                         const SessionState& session) const {
  VerdictInput::Reader reader;
  reader.name = key.consumer.value();
  const auto recent = listeners_.at(key).window.Recent(now);
  if (recent.has_value()) {
    reader.elapsed_s = absl::ToDoubleSeconds(recent->elapsed);
    reader.waited_s = absl::ToDoubleSeconds(recent->waited);
    reader.stage_s = absl::ToDoubleSeconds(recent->stage);
    reader.elements = recent->elements;
  }
  if (session.waiting.empty()) return reader;
  const LeaseTable::Work* work = table_.Find(*session.waiting.begin());
  if (work == nullptr || work->leases.empty()) return reader;
  reader.head_worker = WorkerName(work->leases.front().worker);
  reader.head_s = absl::ToDoubleSeconds(now - work->progress);
  return reader;
}

VerdictInput Dispatcher::InputOf(absl::Time now, const JobState& job,
                                 const FleetUse& fleet) const {
  VerdictInput input;
  input.over = job.over();
  input.planned = job.phase != RunPhase::kPlanning;
  input.waits_for = WaitsFor(job);
  input.dispatcher_busy = shell_.busy;
  if (input.over || !input.planned) return input;
  for (const auto& [consumer, session] : job.sessions) {
    const SessionKey key{job.name, consumer};
    for (const SplitId& split : session.waiting) {
      const LeaseTable::Work* work = table_.Find(split);
      if (work != nullptr && work->leases.empty()) {
        ++input.splits_without_lease;
      }
    }
    VerdictInput::Reader reader = InputOf(now, key, session);
    if (reader.elapsed_s > 0) input.readers.push_back(std::move(reader));
  }
  input.workers = fleet.WorkersFor(job.plan);
  const auto plan = plans_.find(job.plan);
  if (plan == plans_.end()) return input;
  for (const auto& [place, cost] : plan->second.steps.steps()) {
    input.steps.push_back({PlaceName(plan->second, place),
                           place == kSourcePlace,
                           static_cast<double>(cost.wall_ns) * 1e-9,
                           static_cast<double>(cost.cpu_ns) * 1e-9});
  }
  return input;
}

std::optional<Verdict> Dispatcher::JudgeJob(absl::Time now,
                                            const JobName& name) const {
  const JobState* job = state_.FindJob(name);
  if (job == nullptr) return std::nullopt;
  return Judge(InputOf(now, *job, FleetUse::Of(table_, now)));
}

JobSnapshot Dispatcher::SnapshotOf(absl::Time now, const JobState& job,
                                   const FleetUse& fleet) const {
  JobSnapshot snapshot;
  snapshot.name = job.name.value();
  snapshot.anonymous = job.anonymous();
  snapshot.state = StateName(job);
  snapshot.bound_by = BoundName(Judge(InputOf(now, job, fleet)).bound_by);
  const auto totals = totals_.find(job.name);
  if (totals != totals_.end()) snapshot.totals = totals->second;
  snapshot.readers = job.sessions.size();
  for (const auto& [consumer, session] : job.sessions) {
    snapshot.splits += session.splits.size();
    snapshot.splits_waiting += session.waiting.size();
    snapshot.buffered_bytes +=
        listeners_.at({job.name, consumer}).window.last().buffered_bytes;
    for (const SplitId& split : session.waiting) {
      const LeaseTable::Work* work = table_.Find(split);
      if (work == nullptr) continue;
      if (work->leases.empty()) {
        ++snapshot.splits_unleased;
      } else {
        snapshot.oldest_lease_s =
            std::max(snapshot.oldest_lease_s,
                     absl::ToDoubleSeconds(now - work->progress));
      }
    }
  }
  const JobScale* scale = autoscaler_.FindJob(ScaleKey(job));
  if (scale != nullptr && autoscaler_.workers_wanted().has_value()) {
    snapshot.workers_wanted = scale->workers_wanted;
    snapshot.more_workers_help = scale->more_workers_help;
  }
  const auto plan = plans_.find(job.plan);
  if (plan == plans_.end()) return snapshot;
  for (const auto& [place, cost] : plan->second.steps.totals()) {
    snapshot.steps.push_back({PlaceName(plan->second, place),
                              static_cast<double>(cost.wall_ns) * 1e-9,
                              static_cast<double>(cost.cpu_ns) * 1e-9,
                              cost.rows_out});
  }
  return snapshot;
}

DispatcherSnapshot Dispatcher::Snapshot(absl::Time now) const {
  DispatcherSnapshot snapshot;
  const FleetUse fleet = FleetUse::Of(table_, now);
  for (const auto& [name, job] : state_.jobs) {
    snapshot.jobs.push_back(SnapshotOf(now, job, fleet));
  }
  for (const auto& [id, worker] : table_.workers()) {
    const WorkerLoad& load = worker.window.last();
    PlanUse use;
    for (const auto& [plan, each] : worker.window.Plans(now)) {
      use.streams += each.streams;
      use.waiting_for_credit += each.waiting_for_credit;
      use.waiting_for_memory += each.waiting_for_memory;
    }
    snapshot.workers.push_back({WorkerName(id), worker.draining, worker.slots,
                                worker.leases.size(), worker.window.Busy(now),
                                absl::ToDoubleSeconds(load.busy),
                                load.memory_bytes, load.memory_max, use.streams,
                                use.waiting_for_credit, use.waiting_for_memory,
                                absl::ToDoubleSeconds(now - worker.heard)});
  }
  const auto anonymous = totals_.find(JobName());
  if (anonymous != totals_.end()) snapshot.anonymous = anonymous->second;
  snapshot.workers_wanted = autoscaler_.workers_wanted();
  snapshot.scale_changes = autoscaler_.changes();
  snapshot.faults = faults_;
  snapshot.transport = transport_;
  snapshot.shell = shell_;
  snapshot.slots = table_.slots();
  snapshot.splits = state_.splits.size();
  snapshot.leases = table_.leased();
  snapshot.sessions = listeners_.size();
  snapshot.events = state_.sequence;
  return snapshot;
}

}  // namespace feedmill
