#include "broker/fleet_use.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace feedmill {

std::string WorkerName(const WorkerId& worker) {
  return worker.value().substr(0, worker.value().find('#'));
}

FleetUse FleetUse::Of(const LeaseTable& table, absl::Time now) {
  FleetUse fleet;
  for (const auto& [id, worker] : table.workers()) {
    const double in_use = worker.window.Busy(now);
    const uint32_t all = worker.window.last().threads;
    if (!worker.draining) {
      ++fleet.count;
      fleet.threads += all;
      fleet.busy += in_use * all;
    }
    for (const auto& [plan, use] : worker.window.Plans(now)) {
      fleet.by_plan[plan].push_back(
          {WorkerName(id), all, in_use, worker.draining, use.streams,
           use.waiting_for_credit, use.waiting_for_memory, use.share,
           use.speed.value_or(-1), use.progress, worker.window.Worked()});
    }
  }
  return fleet;
}

std::map<std::string, double> FleetUse::RelativeSpeeds() const {
  std::map<std::string, double> relative;
  for (const auto& [plan, workers] : by_plan) {
    std::vector<const VerdictInput::Worker*> known;
    for (const VerdictInput::Worker& worker : workers) {
      if (worker.speed >= 0 && !worker.draining) known.push_back(&worker);
    }
    if (known.size() < 2) continue;
    const auto middle =
        known.begin() + static_cast<ptrdiff_t>(known.size() / 2);
    std::nth_element(
        known.begin(), middle, known.end(),
        [](const auto* a, const auto* b) { return a->speed < b->speed; });
    const VerdictInput::Worker& typical = **middle;
    if (typical.speed <= 0 || typical.progress < kSteadyProgress) continue;
    for (const VerdictInput::Worker& worker : workers) {
      if (worker.speed < 0) continue;
      const double speed = worker.speed / typical.speed;
      const auto [of_all, added] = relative.emplace(worker.name, speed);
      of_all->second = std::min(of_all->second, speed);
    }
  }
  return relative;
}

// Returns the workers with work of the plans, each once.
std::vector<VerdictInput::Worker> FleetUse::WorkersOf(
    const std::vector<PlanId>& plans) const {
  std::vector<VerdictInput::Worker> found;
  for (const PlanId& plan : plans) {
    const auto own = by_plan.find(plan);
    if (own == by_plan.end()) continue;
    for (const VerdictInput::Worker& worker : own->second) {
      const auto known = std::find_if(
          found.begin(), found.end(),
          [&](const auto& each) { return each.name == worker.name; });
      if (known == found.end()) {
        found.push_back(worker);
        continue;
      }
      known->streams += worker.streams;
      known->waiting_for_credit += worker.waiting_for_credit;
      known->waiting_for_memory += worker.waiting_for_memory;
      known->share = std::min(1.0, known->share + worker.share);
      known->speed = -1;  // the plans' positions differ
      known->progress = std::max(known->progress, worker.progress);
    }
  }
  return found;
}

std::vector<VerdictInput::Worker> FleetUse::WorkersFor(
    const std::vector<PlanId>& plans) const {
  std::vector<VerdictInput::Worker> found = WorkersOf(plans);
  VerdictInput::Worker rest{"the others"};
  double left = threads;
  rest.count = count;
  rest.busy = busy;
  for (const VerdictInput::Worker& worker : found) {
    if (worker.draining) continue;
    --rest.count;
    left -= worker.threads;
    rest.busy -= worker.busy * worker.threads;
  }
  if (rest.count > 0) {
    rest.threads = static_cast<uint32_t>(std::max(0.0, left) + 0.5);
    rest.busy = rest.threads == 0 ? 0 : std::clamp(rest.busy / left, 0.0, 1.0);
    rest.worked = rest.busy;
    rest.share = 0;
    found.push_back(std::move(rest));
  }
  return found;
}

}  // namespace feedmill
