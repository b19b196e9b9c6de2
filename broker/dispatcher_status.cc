#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "broker/dispatcher.h"
#include "broker/status_json.h"
#include "core/base/status.h"

// The JSON that `feedmill status` prints. Other programs read it, too.

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

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

const char* PhaseName(const JobState& job) {
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

double Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return 100.0;
  const double percent =
      100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return static_cast<double>(std::lround(percent * 10)) / 10;
}

// "rank 1 of 4", "ranks 1, 2 and 3 of 4", "ranks 0, 1, … and 40 more of 64".
std::string RanksText(const std::vector<uint64_t>& ranks, uint64_t all) {
  constexpr size_t kRanksNamed = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const size_t named = std::min(ranks.size(), kRanksNamed);
  for (size_t k = 0; k < named; ++k) {
    const bool last = k + 1 == ranks.size();
    text += fmt::format("{}{}", k == 0 ? "" : last ? " and " : ", ", ranks[k]);
  }
  if (ranks.size() > named) {
    text += fmt::format(" and {} more", ranks.size() - named);
  }
  return text + fmt::format(" of {}", all);
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

// Events of the status; EventsJson has more.
constexpr size_t kEventsInStatus = 50;

}  // namespace

std::string VerdictText(const Verdict& verdict) {
  return DumpStatus(VerdictJson(verdict));
}

const char* StateName(const JobState& job) { return PhaseName(job); }

std::string Dispatcher::WaitsFor(const JobState& job) const {
  if (job.over()) return "";
  if (job.phase == RunPhase::kPlanning && !job.resolved) {
    const auto resolution = resolutions_.find(job.fingerprint);
    const bool asked = resolution != resolutions_.end() &&
                       resolution->second.worker.has_value();
    return asked ? "the files to be listed by " +
                       resolution->second.worker->value()
                 : "a worker";
  }
  const auto run = runs_.find(job.name);
  if (run != runs_.end() && run->second.awaits) {
    const Behind unmet = RanksUnmet(job);
    return RanksText(unmet.ranks, job.ranks) + " to say how far they are";
  }
  if (job.order == Order::kDeterministic && job.ranks > 1) {
    const RanksLeft left = RanksToEnd(job);
    if (!left.missing.empty()) return RanksText(left.missing, job.ranks);
    if (left.next_is_asked_for && !left.reading.empty()) {
      return RanksText(left.reading, job.ranks) + " to finish";
    }
  } else if (job.sessions.empty()) {
    return "a reader";
  }
  return table_.slots() == 0 ? "a worker" : "";
}

// Returns the ranks that have not finished the run: ranks without a session,
// and ranks that read.
Dispatcher::RanksLeft Dispatcher::RanksToEnd(const JobState& job) const {
  RanksLeft left;
  std::set<uint64_t> reading;
  for (const auto& [consumer, session] : job.sessions) {
    reading.insert(session.share.rank);
  }
  for (uint64_t rank = 0; rank < job.ranks; ++rank) {
    if (reading.contains(rank)) {
      left.reading.push_back(rank);
    } else if (!job.Done(rank)) {
      left.missing.push_back(rank);
    }
  }
  auto word = rank_words_.lower_bound({job.name, 0});
  for (; word != rank_words_.end() && word->first.first == job.name; ++word) {
    const std::optional<RunNumber>& wants = word->second.wants;
    left.next_is_asked_for =
        left.next_is_asked_for || (wants && job.run < *wants);
  }
  return left;
}

std::string Dispatcher::StatusJson(absl::Time now) const {
  const FleetUse fleet = FleetUse::Of(table_, now);
  Json jobs = Json::array();
  for (const auto& [name, job] : state_.jobs) {
    Json sessions = Json::array();
    uint64_t open_positions = 0;
    uint64_t taken_positions = job.ended_positions;
    for (const auto& [consumer, session] : job.sessions) {
      for (const SplitId& id : session.splits) {
        const SplitState& split = *state_.FindSplit(id);
        open_positions += split.end.p - split.begin.p;
        taken_positions += split.taken.p - split.begin.p;
      }
      const Listener& listener = listeners_.at({name, consumer});
      const absl::Duration silent = now - listener.heard;
      Json links = Json::array();
      for (const LinkReport& link : listener.links) {
        links.push_back({{"worker", link.worker},
                         {"transport", LinkName(link.kind)},
                         {"compression", CompressionName(link.compression)},
                         {"frames", link.frames},
                         {"element_bytes", link.element_bytes},
                         {"wire_bytes", link.wire_bytes}});
      }
      sessions.push_back(
          {{"consumer", consumer.value()},
           {"incarnation", session.incarnation.value()},
           {"state",
            silent > Timeout(settings_.park_after) ? "parked" : "live"},
           {"last_heard_s", RoundedSeconds(silent)},
           {"splits", session.splits.size()},
           {"splits_waiting", session.waiting.size()},
           {"links", std::move(links)}});
      AddReaderLoad(now, listener.window, sessions.back());
    }
    const uint64_t bound_positions = job.ended_positions + open_positions;
    const bool planned =
        job.phase == RunPhase::kRunning || job.phase == RunPhase::kFinished;
    const bool counted = planned && job.positions != kEndlessPositions;
    Json entry{{"name", name.value()},
               {"anonymous", job.anonymous()},
               {"state", PhaseName(job)},
               {"order", job.order == Order::kAny ? "any" : "deterministic"},
               {"run", job.run.value()},
               {"iteration", job.iteration},
               {"seed", job.seed},
               {"fingerprint", job.fingerprint},
               {"positions", counted ? Json(job.positions) : Json(nullptr)},
               {"endless", planned && !counted},
               {"ranks", job.ranks},
               {"positions_bound", bound_positions},
               {"positions_taken", taken_positions}};
    if (counted) {
      // Each rank passes through all positions.
      const uint64_t all = job.positions * job.ranks;
      entry["bound_percent"] = Percent(bound_positions, all);
      entry["taken_percent"] = Percent(taken_positions, all);
    }
    if (planned && job.slots > 0) {
      entry["slots"] = job.slots;
      entry["settled"] = job.settled;
    }
    if (job.phase == RunPhase::kFailed) {
      entry["error"] = ErrorText(job.error);
    }
    if (std::string waits_for = WaitsFor(job); !waits_for.empty()) {
      entry["waits_for"] = std::move(waits_for);
    }
    if (!job.over()) {
      entry["verdict"] = VerdictJson(Judge(InputOf(now, job, fleet)));
      entry["bound_by"] = entry["verdict"]["bound_by"];
    }
    const JobScale* scale = autoscaler_.FindJob(ScaleKey(job));
    if (!job.over() && scale != nullptr &&
        autoscaler_.workers_wanted().has_value()) {
      entry["workers_wanted"] = scale->workers_wanted;
      entry["more_workers_help"] = scale->more_workers_help;
    }
    const auto totals = totals_.find(name);
    AddJobLoad(sessions, totals == totals_.end() ? nullptr : &totals->second,
               entry);
    AddThreadUse(job, fleet, entry);
    if (Json steps = StepsOf(job); !steps.empty()) {
      entry["steps"] = std::move(steps);
    }
    entry["sessions"] = std::move(sessions);
    jobs.push_back(std::move(entry));
  }
  const std::map<std::string, double> speeds = fleet.RelativeSpeeds();
  Json workers = Json::array();
  for (const auto& [id, worker] : table_.workers()) {
    const auto speed = speeds.find(WorkerName(id));
    workers.push_back(WorkerJson(now, id, worker,
                                 speed == speeds.end() ? -1 : speed->second));
  }
  const Json status{
      {"jobs", std::move(jobs)},
      {"workers", std::move(workers)},
      {"totals",
       {{"jobs", state_.jobs.size()},
        {"sessions", listeners_.size()},
        {"workers", table_.workers().size()},
        {"slots", table_.slots()},
        {"threads", std::llround(fleet.threads)},
        {"busy_threads", std::round(fleet.busy * 100) / 100},
        {"splits", state_.splits.size()},
        {"leases", table_.leased()},
        {"heartbeat_interval_s", RoundedSeconds(Interval())},
        {"journal", fmt::format("{:016x}", state_.journal.value())},
        {"events", state_.sequence}}},
      {"scale", ScaleJson(autoscaler_)},
      {"faults",
       {{"workers_lost", faults_.workers_lost},
        {"workers_died", faults_.workers_died},
        {"leases_failed", faults_.leases_failed},
        {"second_attempts", faults_.second_attempts},
        {"splits_failed", faults_.splits_failed},
        {"sessions_released", faults_.sessions_released},
        {"sessions_refused", faults_.sessions_refused},
        {"sessions_fenced", faults_.sessions_fenced},
        {"messages_refused", transport_.messages_refused},
        {"messages_dropped", transport_.messages_dropped},
        {"connections_refused", transport_.connections_refused}}},
      {"relay",
       {{"bytes", transport_.relayed_bytes},
        {"waiting_bytes", transport_.relay_waiting_bytes},
        {"messages_dropped", transport_.relay_dropped}}},
      {"dispatcher", ShellJson(shell_)},
      {"events", EventsOf(now, events_.Last(kEventsInStatus))}};
  return DumpStatus(status);
}

std::string Dispatcher::EventsJson(absl::Time now) const {
  return DumpStatus(EventsOf(now, events_.Last(2 * EventRing::kEventsKept)));
}

void Dispatcher::AddThreadUse(const JobState& job, const FleetUse& fleet,
                              Json& entry) {
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

Json Dispatcher::StepsOf(const JobState& job) const {
  const auto plan = plans_.find(job.plan);
  if (plan == plans_.end()) return Json::array();
  std::map<uint32_t, std::string> names;
  for (const auto& [place, cost] : plan->second.steps.steps()) {
    names[place] = PlaceName(plan->second, place);
  }
  return StepsJson(plan->second.steps.steps(), names);
}

}  // namespace feedmill
