#include <algorithm>
#include <utility>

#include "worker/worker_agent.h"

// The load report of a WorkerAgent, for operators. No decision depends on it.

namespace feedmill {
namespace {

constexpr absl::Duration kLoadInterval = absl::Milliseconds(500);
// At most one task of a plan per interval is measured step by step, which
// bounds the cost of measuring short tasks.
constexpr absl::Duration kMeasureInterval = absl::Milliseconds(50);
constexpr size_t kPlansTold = 64;

void AddCost(const StepCost& cost, StepCost& sum) {
  sum.place = cost.place;
  sum.wall_ns += cost.wall_ns;
  sum.cpu_ns += cost.cpu_ns;
  sum.rows_in += cost.rows_in;
  sum.rows_out += cost.rows_out;
  sum.bytes_out += cost.bytes_out;
}

}  // namespace

void WorkerAgent::NoteSent(const Lease& lease, uint64_t elements,
                           uint64_t bytes) {
  const auto plan = plans_.find(lease.plan);
  if (plan == plans_.end()) return;
  plan->second.sent_elements += elements;
  plan->second.sent_bytes += bytes;
}

bool WorkerAgent::MayMeasure(absl::Time now, PlanRecord& plan) {
  if (now < plan.measure_at) return false;
  plan.measure_at = now + kMeasureInterval;
  return true;
}

void WorkerAgent::NoteCosts(PlanRecord& plan, const StepCosts& costs) {
  if (costs == nullptr) return;
  for (const StepCost& cost : *costs) {
    AddCost(cost, plan.measured[cost.place]);
    AddCost(cost, plan.measured_ever[cost.place]);
  }
}

WorkerLoad WorkerAgent::Load(absl::Time now) const {
  WorkerLoad load;
  load.threads = settings_.threads;
  load.tasks = static_cast<uint32_t>(tasks_.size());
  load.busy = busy_;
  load.memory_bytes = used_bytes_;
  load.memory_max = settings_.memory_bytes;
  for (const auto& [id, plan] : plans_) {
    PlanLoad& each = load.plans.emplace_back(LoadOf(now, id, plan));
    for (const auto& [place, cost] : plan.measured_ever) {
      each.steps.push_back(cost);
    }
  }
  return load;
}

// Returns nullopt if the report is not due, or if the worker was idle at the
// last report and still is: thousands of idle workers report nothing.
std::optional<WorkerLoad> WorkerAgent::TakeLoad(absl::Time now) {
  if (now < next_load_) return std::nullopt;
  next_load_ = now + kLoadInterval;
  WorkerLoad load = Load(now);
  std::erase_if(load.plans, [&](PlanLoad& each) {
    PlanRecord& plan = plans_.at(each.plan);
    each.steps.clear();
    for (const auto& [place, cost] : plan.measured) each.steps.push_back(cost);
    plan.measured.clear();
    const bool news = each.streams > 0 || !each.steps.empty() ||
                      plan.told_elements != plan.sent_elements;
    plan.told_elements = plan.sent_elements;
    return !news;
  });
  if (load.plans.size() > kPlansTold) load.plans.resize(kPlansTold);
  const bool idle = load.tasks == 0 && load.plans.empty();
  if (std::exchange(load_is_idle_, idle) && idle) return std::nullopt;
  return load;
}

PlanLoad WorkerAgent::LoadOf(absl::Time now, const PlanId& id,
                             const PlanRecord& plan) const {
  PlanLoad load;
  load.plan = id;
  load.elements = plan.sent_elements;
  load.bytes = plan.sent_bytes;
  load.ready_bytes = *plan.made_bytes;
  for (const auto& [split, held] : leases_) {
    if (held.lease.plan != id || !held.stream) continue;
    if (now - held.stream->granted > park_after_) continue;
    ++load.streams;
    if (WaitsForCredit(*held.stream)) {
      ++load.waiting_for_credit;
    } else if (Wants(now, held) && MayHaveTask(plan) && !HasRoom(plan)) {
      ++load.waiting_for_memory;
    }
  }
  return load;
}

}  // namespace feedmill
