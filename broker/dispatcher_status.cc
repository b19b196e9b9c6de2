#include <cmath>
#include <nlohmann/json.hpp>

#include "broker/dispatcher.h"
#include "core/base/status.h"

// What `feedmill status` prints; other programs read it.

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

const char* PhaseName(const JobState& job) {
  switch (job.phase) {
    case RunPhase::kPlanning:
      return "planning";
    case RunPhase::kRunning:
      return "running";
    case RunPhase::kFinished:
      return job.complete ? "finished" : "cancelled";
    case RunPhase::kFailed:
      return "failed";
  }
  return "";
}

double Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return 100.0;
  const double percent =
      100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return static_cast<double>(std::lround(percent * 10)) / 10;
}

// Text from outside may not be UTF-8, which dump() refuses by default.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json Seconds(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  return static_cast<double>(std::llround(seconds * 1000)) / 1000;
}

}  // namespace

std::string Dispatcher::StatusJson(absl::Time now) const {
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
           {"last_heard_s", Seconds(silent)},
           {"splits", session.splits.size()},
           {"splits_waiting", session.waiting.size()},
           {"links", std::move(links)}});
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
      // Each rank goes through all positions.
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
    if (job.phase == RunPhase::kPlanning && !job.resolved) {
      const auto resolution = resolutions_.find(job.fingerprint);
      const bool asked = resolution != resolutions_.end() &&
                         resolution->second.worker.has_value();
      entry["waits_for"] = asked ? "the files to be listed by " +
                                       resolution->second.worker->value()
                                 : "a worker";
    }
    entry["sessions"] = std::move(sessions);
    jobs.push_back(std::move(entry));
  }
  Json workers = Json::array();
  for (const auto& [id, worker] : table_.workers()) {
    workers.push_back({{"address", id.value()},
                       {"incarnation", worker.incarnation.value()},
                       {"slots", worker.slots},
                       {"leases", worker.leases.size()},
                       {"draining", worker.draining},
                       {"last_heard_s", Seconds(now - worker.heard)}});
  }
  const Json status{
      {"jobs", std::move(jobs)},
      {"workers", std::move(workers)},
      {"totals",
       {{"jobs", state_.jobs.size()},
        {"sessions", listeners_.size()},
        {"workers", table_.workers().size()},
        {"slots", table_.slots()},
        {"splits", state_.splits.size()},
        {"leases", table_.leased()},
        {"heartbeat_interval_s", Seconds(Interval())},
        {"journal", fmt::format("{:016x}", state_.journal.value())},
        {"events", state_.sequence}}},
      {"faults",
       {{"workers_lost", faults_.workers_lost},
        {"workers_died", faults_.workers_died},
        {"leases_failed", faults_.leases_failed},
        {"second_attempts", faults_.second_attempts},
        {"splits_failed", faults_.splits_failed},
        {"sessions_released", faults_.sessions_released},
        {"sessions_refused", faults_.sessions_refused},
        {"messages_refused", transport_.messages_refused},
        {"messages_dropped", transport_.messages_dropped},
        {"connections_refused", transport_.connections_refused}}},
      {"relay",
       {{"bytes", transport_.relayed_bytes},
        {"waiting_bytes", transport_.relay_waiting_bytes},
        {"messages_dropped", transport_.relay_dropped}}}};
  return Dump(status);
}

}  // namespace feedmill
