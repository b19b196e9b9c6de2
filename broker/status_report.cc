#include "broker/status_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "broker/status_json.h"
#include "core/base/release.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

// Events of the status; EventsJson has more.
constexpr size_t kEventsInStatus = 50;

const char* StateOf(RunEnding ending) {
  switch (ending) {
    case RunEnding::kFinished:
      return "finished";
    case RunEnding::kCancelled:
      return "cancelled";
    case RunEnding::kNone:
    case RunEnding::kLeft:
      break;
  }
  return "left";
}

double Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return 100.0;
  const double percent =
      100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return static_cast<double>(std::lround(percent * 10)) / 10;
}

bool WasPlanned(const JobState& job) {
  return job.phase == RunPhase::kRunning || job.phase == RunPhase::kFinished;
}

Json VerdictJson(const Verdict& verdict) {
  return {{"bound_by", BoundName(verdict.bound_by)},
          {"where", verdict.where},
          {"gain", static_cast<double>(std::llround(verdict.gain * 100)) / 100},
          {"sentence", verdict.sentence},
          {"evidence", verdict.evidence}};
}

// The number of workers that the service wants, and why.
Json ScaleJson(const Autoscaler& scaler) {
  const std::optional<uint64_t> wanted = scaler.workers_wanted();
  return {
      {"workers_wanted", wanted.has_value() ? Json(*wanted) : Json(nullptr)},
      {"workers_min", scaler.settings().workers_min},
      {"workers_max", scaler.settings().workers_max},
      {"changes", scaler.changes()},
      {"reason", scaler.reason()}};
}

Json LinksJson(const std::vector<LinkReport>& reports) {
  Json links = Json::array();
  for (const LinkReport& link : reports) {
    links.push_back({{"worker", link.worker},
                     {"transport", LinkName(link.kind)},
                     {"compression", CompressionName(link.compression)},
                     {"frames", link.frames},
                     {"element_bytes", link.element_bytes},
                     {"wire_bytes", link.wire_bytes}});
  }
  return links;
}

// Adds the threads of workers that are busy for the job, and the job's streams.
void AddThreadUse(const JobState& job, const FleetUse& fleet, Json& entry) {
  const auto own = fleet.by_plan.find(job.plan);
  if (own == fleet.by_plan.end()) return;
  double busy = 0;
  double streams = 0;
  double for_credit = 0;
  double for_memory = 0;
  for (const VerdictInput::Worker& worker : own->second) {
    busy += worker.busy * worker.threads * worker.share;
    streams += worker.streams;
    for_credit += worker.waiting_for_credit;
    for_memory += worker.waiting_for_memory;
  }
  const auto tenth = [](double value) { return std::round(value * 10) / 10; };
  entry["busy_threads"] = std::round(busy * 100) / 100;
  entry["streams"] = tenth(streams);
  entry["waiting_for_credit"] = tenth(for_credit);
  entry["waiting_for_memory"] = tenth(for_memory);
}

Json WorkersJson(absl::Time now, const LeaseTable& leases,
                 const FleetUse& fleet) {
  const std::map<std::string, double> speeds = fleet.RelativeSpeeds();
  Json workers = Json::array();
  for (const auto& [id, worker] : leases.workers()) {
    const auto speed = speeds.find(WorkerName(id));
    workers.push_back(WorkerJson(now, id, worker,
                                 speed == speeds.end() ? -1 : speed->second));
  }
  return workers;
}

WorkerSnapshot SnapshotOfWorker(absl::Time now, const WorkerId& id,
                                const KnownWorker& worker) {
  const WorkerLoad& load = worker.window.last();
  PlanUse use;
  for (const auto& [plan, each] : worker.window.Plans(now)) {
    use.streams += each.streams;
    use.waiting_for_credit += each.waiting_for_credit;
    use.waiting_for_memory += each.waiting_for_memory;
  }
  return {WorkerName(id),
          worker.draining,
          worker.set_aside,
          worker.slots,
          worker.leases.size(),
          worker.leases_failed,
          worker.window.Busy(now),
          absl::ToDoubleSeconds(load.busy),
          load.memory_bytes,
          load.memory_max,
          use.streams,
          use.waiting_for_credit,
          use.waiting_for_memory,
          absl::ToDoubleSeconds(now - worker.heard)};
}

}  // namespace

const char* StateName(const JobState& job) {
  switch (job.phase) {
    case RunPhase::kPlanning:
      return "planning";
    case RunPhase::kRunning:
      // If sharers left work, the run is not over: another sharer may join.
      return job.sessions.empty() && job.ending != RunEnding::kNone &&
                     job.order == Order::kAny
                 ? StateOf(job.ending)
                 : "running";
    case RunPhase::kFinished:
      return StateOf(job.ending);
    case RunPhase::kFailed:  // an operator's cancellation is no failure
      return absl::IsCancelled(job.error) ? "cancelled" : "failed";
  }
  return "";
}

std::string VerdictText(const Verdict& verdict) {
  return DumpStatus(VerdictJson(verdict));
}

// ---- status

std::string StatusReport::StatusJson(absl::Time now, bool all_events) const {
  const size_t events =
      all_events ? 2 * EventRing::kEventsKept : kEventsInStatus;
  const FleetUse fleet = FleetUse::Of(context_.leases, now);
  Json jobs = Json::array();
  for (const auto& [name, job] : context_.state->jobs) {
    jobs.push_back(JobJson(now, job, fleet));
  }
  Json status{{"release", ReleaseName()},
              {"jobs", std::move(jobs)},
              {"workers", WorkersJson(now, context_.leases, fleet)},
              {"totals", TotalsJson(fleet)},
              {"scale", ScaleJson(scale_.autoscaler())},
              {"faults", FaultsJson()},
              {"relay",
               {{"bytes", transport_.relayed_bytes},
                {"waiting_bytes", transport_.relay_waiting_bytes},
                {"messages_dropped", transport_.relay_dropped}}},
              {"dispatcher", ShellJson(verdicts_.shell())},
              {"events", EventsOf(now, context_.log.events().Last(events))}};
  if (!verdicts_.shell().standbys.empty()) {
    status["standbys"] = StandbysJson(verdicts_.shell());
  }
  return DumpStatus(status);
}

std::string StatusReport::EventsJson(absl::Time now) const {
  return DumpStatus(
      EventsOf(now, context_.log.events().Last(2 * EventRing::kEventsKept)));
}

Json StatusReport::JobJson(absl::Time now, const JobState& job,
                           const FleetUse& fleet) const {
  const bool planned = WasPlanned(job);
  const bool counted = planned && job.positions != kInfinitePositions;
  Json entry{{"name", job.name.value()},
             {"anonymous", job.anonymous()},
             {"state", StateName(job)},
             {"order", job.order == Order::kAny ? "any" : "deterministic"},
             {"run", job.run.value()},
             {"iteration", job.iteration},
             {"seed", job.seed},
             {"fingerprint", job.fingerprint},
             {"plan", job.plan.value()},
             {"positions", counted ? Json(job.positions) : Json(nullptr)},
             {"infinite", planned && !counted},
             {"ranks", job.ranks}};
  AddPositions(job, entry);
  if (planned && job.passes > 0) {
    entry["slots"] = job.passes;
    entry["settled"] = job.settled;
  }
  if (job.phase == RunPhase::kFailed) {
    entry["error"] = ErrorText(job.error);
  }
  AddVerdict(now, job, fleet, entry);
  Json sessions = Json::array();
  for (const auto& [consumer, session] : job.sessions) {
    sessions.push_back(SessionJson(now, {job.name, consumer}, session));
  }
  AddJobLoad(sessions, context_.readers.TotalsOf(job.name), entry);
  AddThreadUse(job, fleet, entry);
  if (Json steps = StepsOf(job); !steps.empty()) {
    entry["steps"] = std::move(steps);
  }
  entry["sessions"] = std::move(sessions);
  return entry;
}

void StatusReport::AddPositions(const JobState& job, Json& entry) const {
  uint64_t open = 0;
  uint64_t taken = job.ended_positions;
  for (const auto& [consumer, session] : job.sessions) {
    for (const SplitId& id : session.splits) {
      const SplitState& split = *context_.state->FindSplit(id);
      open += split.end.p - split.begin.p;
      taken += split.taken.p - split.begin.p;
    }
  }
  uint64_t bound = job.ended_positions + open;
  const bool counted = WasPlanned(job) && job.positions != kInfinitePositions;
  // Each rank passes through all positions. A reader that continues from a
  // token reads some again, which count twice.
  const uint64_t all = job.positions * job.ranks;
  if (counted) {
    bound = std::min(bound, all);
    taken = std::min(taken, all);
  }
  entry["positions_bound"] = bound;
  entry["positions_taken"] = taken;
  if (!counted) return;
  entry["bound_percent"] = Percent(bound, all);
  entry["taken_percent"] = Percent(taken, all);
}

void StatusReport::AddVerdict(absl::Time now, const JobState& job,
                              const FleetUse& fleet, Json& entry) const {
  if (std::string waits_for = verdicts_.WaitsFor(job); !waits_for.empty()) {
    entry["waits_for"] = std::move(waits_for);
  }
  if (job.over()) return;
  entry["verdict"] = VerdictJson(verdicts_.Reported(now, job, fleet));
  entry["bound_by"] = entry["verdict"]["bound_by"];
  if (const JobScale* scale = scale_.Find(job); scale != nullptr) {
    entry["workers_wanted"] = scale->workers_wanted;
    entry["more_workers_help"] = scale->more_workers_help;
  }
}

Json StatusReport::SessionJson(absl::Time now, const SessionKey& key,
                               const SessionState& session) const {
  const KnownReader& reader = context_.readers.At(key);
  const absl::Duration silent = now - reader.heard;
  Json entry{{"consumer", key.consumer.value()},
             {"incarnation", session.incarnation.value()},
             {"state", silent > context_.clock.ParkAfter() ? "parked" : "live"},
             {"last_heard_s", RoundedSeconds(silent)},
             {"splits", session.splits.size()},
             {"splits_waiting", session.waiting.size()},
             {"links", LinksJson(reader.links)}};
  AddReaderLoad(now, reader.window, entry);
  return entry;
}

Json StatusReport::StepsOf(const JobState& job) const {
  const StepUse* const steps = context_.plans.StepsOf(job.plan);
  if (steps == nullptr) return Json::array();
  std::map<uint32_t, std::string> names;
  for (const auto& [place, cost] : steps->steps()) {
    names[place] = context_.plans.PlaceName(job.plan, place);
  }
  return StepsJson(steps->steps(), names);
}

Json StatusReport::TotalsJson(const FleetUse& fleet) const {
  return {{"jobs", context_.state->jobs.size()},
          {"sessions", context_.readers.size()},
          {"workers", context_.leases.workers().size()},
          {"slots", context_.leases.slots()},
          {"threads", std::llround(fleet.threads)},
          {"busy_threads", std::round(fleet.busy * 100) / 100},
          {"splits", context_.state->splits.size()},
          {"leases", context_.leases.leased()},
          {"heartbeat_interval_s", RoundedSeconds(context_.clock.Interval())},
          {"journal", fmt::format("{:016x}", context_.state->journal.value())},
          {"events", context_.state->sequence}};
}

Json StatusReport::FaultsJson() const {
  const DispatcherFaults& faults = context_.log.faults();
  return {{"workers_lost", faults.workers_lost},
          {"workers_died", faults.workers_died},
          {"workers_set_aside", faults.workers_set_aside},
          {"jobs_failed", faults.jobs_failed},
          {"cache_write_failures", faults.cache_write_failures},
          {"leases_failed", faults.leases_failed},
          {"second_attempts", faults.second_attempts},
          {"splits_failed", faults.splits_failed},
          {"sessions_released", faults.sessions_released},
          {"sessions_refused", faults.sessions_refused},
          {"sessions_fenced", faults.sessions_fenced},
          {"messages_refused", transport_.messages_refused},
          {"messages_dropped", transport_.messages_dropped},
          {"connections_refused", transport_.connections_refused}};
}

// ---- metrics

JobSnapshot StatusReport::SnapshotOf(absl::Time now, const JobState& job,
                                     const FleetUse& fleet) const {
  JobSnapshot snapshot;
  snapshot.name = job.name.value();
  snapshot.anonymous = job.anonymous();
  snapshot.state = StateName(job);
  snapshot.plan = job.plan.value();
  snapshot.bound_by = BoundName(verdicts_.Reported(now, job, fleet).bound_by);
  const JobTotals* const totals = context_.readers.TotalsOf(job.name);
  if (totals != nullptr) snapshot.totals = *totals;
  snapshot.readers = job.sessions.size();
  snapshot.idle_since = job.idle_since;
  for (const auto& [consumer, session] : job.sessions) {
    snapshot.splits += session.splits.size();
    snapshot.splits_waiting += session.waiting.size();
    snapshot.buffered_bytes +=
        context_.readers.At({job.name, consumer}).window.last().buffered_bytes;
    for (const SplitId& split : session.waiting) {
      const LeaseTable::Work* work = context_.leases.Find(split);
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
  if (const JobScale* scale = scale_.Find(job); scale != nullptr) {
    snapshot.workers_wanted = scale->workers_wanted;
    snapshot.more_workers_help = scale->more_workers_help;
  }
  const StepUse* const steps = context_.plans.StepsOf(job.plan);
  if (steps == nullptr) return snapshot;
  for (const auto& [place, cost] : steps->totals()) {
    snapshot.steps.push_back({context_.plans.PlaceName(job.plan, place),
                              static_cast<double>(cost.wall_ns) * 1e-9,
                              static_cast<double>(cost.cpu_ns) * 1e-9,
                              cost.rows_out});
  }
  return snapshot;
}

DispatcherSnapshot StatusReport::Snapshot(absl::Time now) const {
  DispatcherSnapshot snapshot;
  const FleetUse fleet = FleetUse::Of(context_.leases, now);
  for (const auto& [name, job] : context_.state->jobs) {
    snapshot.jobs.push_back(SnapshotOf(now, job, fleet));
  }
  for (const auto& [id, worker] : context_.leases.workers()) {
    snapshot.workers.push_back(SnapshotOfWorker(now, id, worker));
  }
  const JobTotals* const anonymous = context_.readers.TotalsOf(JobName());
  if (anonymous != nullptr) snapshot.anonymous = *anonymous;
  snapshot.workers_wanted = scale_.autoscaler().workers_wanted();
  snapshot.scale_changes = scale_.autoscaler().changes();
  snapshot.faults = context_.log.faults();
  snapshot.transport = transport_;
  snapshot.shell = verdicts_.shell();
  snapshot.slots = context_.leases.slots();
  snapshot.splits = context_.state->splits.size();
  snapshot.leases = context_.leases.leased();
  snapshot.sessions = context_.readers.size();
  snapshot.events = context_.state->sequence;
  return snapshot;
}

}  // namespace feedmill
