#include "worker/load_report.h"

#include <cstddef>
#include <utility>

namespace feedmill {
namespace {

constexpr absl::Duration kLoadInterval = absl::Milliseconds(500);
constexpr absl::Duration kMeasureInterval = absl::Milliseconds(50);
constexpr size_t kMaxReportedPlans = 64;

void AddCost(const StepCost& cost, StepCost& sum) {
  sum.place = cost.place;
  sum.wall_ns += cost.wall_ns;
  sum.cpu_ns += cost.cpu_ns;
  sum.rows_in += cost.rows_in;
  sum.rows_out += cost.rows_out;
  sum.bytes_out += cost.bytes_out;
}

}  // namespace

void LoadReport::NoteSent(const PlanId& plan, uint64_t elements,
                          uint64_t bytes) {
  const auto found = plans_.find(plan);
  if (found == plans_.end()) return;
  found->second.sent_elements += elements;
  found->second.sent_bytes += bytes;
}

bool LoadReport::MayMeasure(absl::Time now, const PlanId& plan) {
  const auto found = plans_.find(plan);
  if (found == plans_.end() || now < found->second.measure_at) return false;
  found->second.measure_at = now + kMeasureInterval;
  return true;
}

void LoadReport::NoteCosts(const PlanId& plan, const StepCosts& costs) {
  const auto found = plans_.find(plan);
  if (costs == nullptr || found == plans_.end()) return;
  for (const StepCost& cost : *costs) {
    AddCost(cost, found->second.measured[cost.place]);
    AddCost(cost, found->second.measured_ever[cost.place]);
  }
}

void LoadReport::AddTotals(WorkerLoad& load) const {
  load.busy = busy_;
  load.cache_faults = cache_faults_;
  load.cache_fault = cache_fault_;
  for (PlanLoad& each : load.plans) {
    const auto found = plans_.find(each.plan);
    if (found == plans_.end()) continue;
    each.elements = found->second.sent_elements;
    each.bytes = found->second.sent_bytes;
    for (const auto& [place, cost] : found->second.measured_ever) {
      each.steps.push_back(cost);
    }
  }
}

bool LoadReport::TakeDue(absl::Time now) {
  if (now < next_) return false;
  next_ = now + kLoadInterval;
  return true;
}

std::optional<WorkerLoad> LoadReport::TakeNews(WorkerLoad load) {
  std::erase_if(load.plans, [&](PlanLoad& each) {
    Plan& plan = plans_.at(each.plan);
    each.steps.clear();
    for (const auto& [place, cost] : plan.measured) each.steps.push_back(cost);
    plan.measured.clear();
    const bool news = each.streams > 0 || !each.steps.empty() ||
                      plan.reported_elements != plan.sent_elements;
    plan.reported_elements = plan.sent_elements;
    return !news;
  });
  if (load.plans.size() > kMaxReportedPlans)
    load.plans.resize(kMaxReportedPlans);
  const bool faults =
      std::exchange(reported_faults_, cache_faults_) != cache_faults_;
  const bool idle = load.tasks == 0 && load.plans.empty() && !faults;
  if (std::exchange(was_idle_, idle) && idle) return std::nullopt;
  return load;
}

}  // namespace feedmill
