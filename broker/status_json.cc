#include "broker/status_json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "broker/fleet_use.h"

namespace feedmill {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr uint32_t kSourceOfPlan = 1;  // StepCost::place

OrderedJson PartOf(absl::Duration part, absl::Duration whole) {
  if (whole <= absl::ZeroDuration()) return nullptr;
  return std::lround(100 * absl::FDivDuration(part, whole));
}

double Rounded(double value, double digits) {
  return std::round(value * digits) / digits;
}

}  // namespace

std::string DumpStatus(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson RoundedSeconds(absl::Duration duration) {
  return Rounded(absl::ToDoubleSeconds(duration), 1000);
}

void AddReaderLoad(absl::Time now, const ReaderWindow& window,
                   OrderedJson& session) {
  const ReaderLoad& last = window.last();
  if (last.elapsed > absl::ZeroDuration()) {
    session["elements"] = last.elements;
    session["skipped"] = last.skipped;
    session["buffered_bytes"] = last.buffered_bytes;
    session["window_bytes"] = last.window_bytes;
  }
  if (!last.unreachable.empty()) {
    OrderedJson workers = OrderedJson::array();
    for (const std::string& worker : last.unreachable) {
      workers.push_back(WorkerName(WorkerId(worker)));
    }
    session["unreachable"] = std::move(workers);
  }
  const auto recent = window.Recent(now);
  if (!recent.has_value()) return;
  const double seconds = std::max(1e-3, absl::ToDoubleSeconds(recent->elapsed));
  session["waits_percent"] = PartOf(recent->waited, recent->elapsed);
  session["steps_percent"] = PartOf(recent->stage, recent->elapsed);
  session["elements_per_s"] =
      std::llround(static_cast<double>(recent->elements) / seconds);
  session["bytes_per_s"] =
      std::llround(static_cast<double>(recent->bytes) / seconds);
}

void AddJobLoad(const OrderedJson& sessions, const JobTotals* totals,
                OrderedJson& job) {
  if (totals != nullptr) {
    job["elements"] = totals->elements;
    job["bytes"] = totals->bytes;
    job["skipped"] = totals->skipped;
  }
  double waits = 0;
  double steps = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t readers = 0;
  for (const OrderedJson& session : sessions) {
    const auto waited = session.find("waits_percent");
    if (waited == session.end() || !waited->is_number()) continue;
    ++readers;
    waits += waited->get<double>();
    steps += session.at("steps_percent").get<double>();
    elements += session.at("elements_per_s").get<int64_t>();
    bytes += session.at("bytes_per_s").get<int64_t>();
  }
  if (readers == 0) return;
  job["waits_percent"] = std::lround(waits / static_cast<double>(readers));
  job["steps_percent"] = std::lround(steps / static_cast<double>(readers));
  job["elements_per_s"] = elements;
  job["bytes_per_s"] = bytes;
}

OrderedJson StepsJson(const std::map<uint32_t, StepCost>& steps,
                      const std::map<uint32_t, std::string>& names) {
  double measured = 0;
  for (const auto& [place, cost] : steps) {
    measured += static_cast<double>(cost.wall_ns);
  }
  OrderedJson list = OrderedJson::array();
  for (const auto& [place, cost] : steps) {
    const auto wall = static_cast<double>(cost.wall_ns);
    // The CPU clock may be ahead of the wall clock by a tick.
    const double cpu = std::min(wall, static_cast<double>(cost.cpu_ns));
    const auto rows = static_cast<double>(cost.rows_out);
    OrderedJson step{
        {"name", names.at(place)},
        {"source", place == kSourceOfPlan},
        {"share_percent",
         measured > 0 ? Rounded(100 * wall / measured, 10) : 0},
        {"cpu_percent", measured > 0 ? Rounded(100 * cpu / measured, 10) : 0},
        {"measured_s", Rounded(wall * 1e-9, 1000)}};
    if (rows > 0) {
      step["cpu_us_per_element"] = Rounded(cpu * 1e-3 / rows, 1000);
      step["us_per_element"] = Rounded(wall * 1e-3 / rows, 1000);
    }
    list.push_back(std::move(step));
  }
  return list;
}

OrderedJson WorkerJson(absl::Time now, const WorkerId& id,
                       const KnownWorker& worker, double speed) {
  const WorkerLoad& load = worker.window.last();
  double streams = 0;
  double for_credit = 0;
  double for_memory = 0;
  for (const auto& [plan, use] : worker.window.Plans(now)) {
    streams += use.streams;
    for_credit += use.waiting_for_credit;
    for_memory += use.waiting_for_memory;
  }
  OrderedJson entry{
      {"address", id.value()},
      {"incarnation", worker.incarnation.value()},
      {"slots", worker.slots},
      {"leases", worker.leases.size()},
      {"draining", worker.draining},
      {"drain_asked", worker.drain_asked},
      {"set_aside", worker.set_aside},
      {"leases_failed", worker.leases_failed},
      {"connected", !worker.gone},
      {"busy_percent", std::lround(100 * worker.window.Busy(now))},
      {"threads", load.threads},
      {"memory_bytes", load.memory_bytes},
      {"memory_max", load.memory_max},
      {"streams", Rounded(streams, 10)},
      {"waiting_for_credit", Rounded(for_credit, 10)},
      {"waiting_for_memory", Rounded(for_memory, 10)},
      {"last_heard_s", RoundedSeconds(now - worker.heard)}};
  if (!worker.release.empty()) entry["release"] = worker.release;
  if (worker.leases_failed > 0) entry["failure"] = worker.failure;
  if (worker.python != nullptr) entry["python"] = worker.python->version;
  if (speed >= 0) entry["speed_percent"] = std::lround(100 * speed);
  return entry;
}

OrderedJson ShellJson(const ShellLoad& load) {
  OrderedJson json{{"busy_percent", std::lround(100 * load.busy)},
                   {"journal_syncs", load.journal_syncs}};
  if (load.journal_syncs > 0) {
    const auto syncs = static_cast<int64_t>(load.journal_syncs);
    json["journal_last_ms"] =
        Rounded(absl::ToDoubleMilliseconds(load.journal_last), 1000);
    json["journal_mean_ms"] =
        Rounded(absl::ToDoubleMilliseconds(load.journal_time / syncs), 1000);
  }
  if (load.free_bytes.has_value()) {
    json["work_dir_free_bytes"] = *load.free_bytes;
  }
  if (load.term > 0) {
    json["leads"] = {{"work_dir", load.state_place},
                     {"term", load.term},
                     {"since", load.leads_since}};
  }
  return json;
}

OrderedJson StandbysJson(const ShellLoad& load) {
  OrderedJson list = OrderedJson::array();
  for (const StandbySnapshot& standby : load.standbys) {
    OrderedJson entry{{"name", standby.name},
                      {"heard_s", Rounded(standby.heard_s, 1000)}};
    if (standby.behind) entry["behind_events"] = *standby.behind;
    list.push_back(std::move(entry));
  }
  return list;
}

OrderedJson EventsOf(absl::Time now, const std::vector<OperatorEvent>& events) {
  OrderedJson list = OrderedJson::array();
  for (const OperatorEvent& event : events) {
    OrderedJson entry{{"id", event.id},
                      {"age_s", RoundedSeconds(now - event.last)},
                      {"kind", NoteName(event.kind)},
                      {"warning", event.warning},
                      {"text", event.text},
                      {"count", event.count}};
    if (!event.job.empty()) entry["job"] = event.job;
    if (!event.worker.empty()) entry["worker"] = event.worker;
    if (!event.records.empty()) entry["records"] = event.records;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace feedmill
