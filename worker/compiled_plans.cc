#include "worker/compiled_plans.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace feedmill {
namespace {

// Maximum of compiled plans kept although no lease needs them.
constexpr size_t kIdlePlansMax = 16;

}  // namespace

CompiledPlan* CompiledPlans::Find(const PlanId& plan) {
  const auto found = plans_.find(plan);
  return found == plans_.end() ? nullptr : &found->second;
}

const CompiledPlan* CompiledPlans::Find(const PlanId& plan) const {
  const auto found = plans_.find(plan);
  return found == plans_.end() ? nullptr : &found->second;
}

bool CompiledPlans::Define(const PlanId& plan) {
  const auto [known, fresh] = plans_.try_emplace(plan);
  if (fresh) NoteUse(plan);
  return fresh;
}

void CompiledPlans::SetTraits(CompiledPlan& plan, PlanTraits traits) {
  plan.traits = std::move(traits);
  if (plan.traits.family.empty()) return;
  for (auto& [id, other] : plans_) {
    if (&other == &plan || other.traits.family != plan.traits.family) continue;
    plan.served = other.served;
    return;
  }
}

void CompiledPlans::NoteUse(const PlanId& plan) {
  CompiledPlan* const known = Find(plan);
  if (known == nullptr) return;
  known->used = answers_;
  known->needed = answered_;
}

std::vector<PlanId> CompiledPlans::TakeResting() {
  std::vector<PlanId> resting;
  for (auto& [id, plan] : plans_) {
    if (plan.used == answers_ || !std::exchange(plan.traits.beside, false)) {
      continue;
    }
    resting.push_back(id);
  }
  return resting;
}

std::vector<PlanId> CompiledPlans::ForgetIdle() {
  std::vector<std::pair<uint64_t, PlanId>> idle;
  for (const auto& [plan, record] : plans_) {
    if (record.used == answers_) continue;
    if (record.state == CompiledPlan::State::kFailed) {
      idle.emplace_back(0, plan);
    } else if (record.state == CompiledPlan::State::kReady) {
      idle.emplace_back(record.used, plan);
    }
  }
  std::sort(idle.begin(), idle.end());
  std::vector<PlanId> forgotten;
  size_t kept = idle.size();
  for (const auto& [used, plan] : idle) {
    if (used > 0 && kept <= kIdlePlansMax) break;
    --kept;
    plans_.erase(plan);
    forgotten.push_back(plan);
  }
  return forgotten;
}

std::optional<SharedResults::Key> CompiledPlans::SharedKey(
    const LeasedSplit& held) const {
  if (held.lease.share.whole() || !held.stream) return std::nullopt;
  const CompiledPlan* const plan = Find(held.lease.plan);
  if (plan == nullptr || !plan->traits.alike) return std::nullopt;
  return SharedResults::Key{held.lease.plan, held.stream->terms.compression,
                            held.lease.share.ranks};
}

}  // namespace feedmill
