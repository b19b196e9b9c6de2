#include "broker/plan_table.h"

#include "absl/status/statusor.h"
#include "core/base/status.h"

namespace feedmill {

const PlanTable::Plan* PlanTable::Find(const PlanId& plan) const {
  const auto it = plans_.find(plan);
  return it == plans_.end() ? nullptr : &it->second;
}

PlanTable::Plan* PlanTable::Find(const PlanId& plan) {
  const auto it = plans_.find(plan);
  return it == plans_.end() ? nullptr : &it->second;
}

void PlanTable::Begin(const JobState& job) {
  Plan& plan = plans_[job.plan];
  if (plan.jobs.empty()) plan.cost = past_costs_.Of(job.fingerprint);
  plan.jobs.insert(job.name);
}

void PlanTable::End(const JobState& job) {
  const auto it = plans_.find(job.plan);
  if (it == plans_.end()) return;
  it->second.jobs.erase(job.name);
  if (!it->second.jobs.empty()) return;
  past_costs_.Keep(job.fingerprint, it->second.cost);
  plans_.erase(it);
}

const std::string& PlanTable::RunGraph(const JobState& job) {
  const auto& change =
      job.sequenced ? planner_.sequenced_graph : planner_.run_graph;
  if ((job.passes == 0 && !job.sequenced) || !change) return job.graph;
  std::optional<std::string>& graph = plans_[job.plan].graph;
  if (!graph.has_value()) graph = change(job.graph);
  return *graph;
}

bool PlanTable::Numbered(const JobState& job) {
  Plan* const plan = Find(job.plan);
  if (plan == nullptr || !planner_.numbered) return true;
  std::optional<bool>& numbered = plan->numbered;
  if (!numbered.has_value()) numbered = planner_.numbered(RunGraph(job));
  return *numbered;
}

uint64_t PlanTable::SourceRound(const JobState& job) {
  Plan* const plan = Find(job.plan);
  if (job.source_size != kInfinitePositions || plan == nullptr) return 0;
  std::optional<uint64_t>& round = plan->source_round;
  if (!round.has_value()) {
    const absl::StatusOr<JobShape> shape =
        planner_.shape(job.graph, job.manifest, job.seed, job.iteration);
    round = shape.ok() ? shape->source_round : 0;
  }
  return *round;
}

PythonNeedsPtr PlanTable::PythonNeedsOf(const JobState& job) {
  Plan* const plan = Find(job.plan);
  if (plan == nullptr || !planner_.python_needs) return nullptr;
  std::optional<PythonNeedsPtr>& needs = plan->python_needs;
  if (!needs.has_value()) needs = planner_.python_needs(job.graph);
  return *needs;
}

PythonNeedsPtr PlanTable::KnownPythonNeeds(const PlanId& id) const {
  const Plan* const plan = Find(id);
  return plan == nullptr ? nullptr : plan->python_needs.value_or(nullptr);
}

void PlanTable::SetSourceRound(const PlanId& plan, uint64_t round) {
  plans_.at(plan).source_round = round;
}

void PlanTable::AddCost(const PlanCost& cost) {
  Plan* const plan = Find(cost.plan);
  if (plan != nullptr) plan->cost.Add(cost.positions, cost.bytes, cost.busy);
}

void PlanTable::AddSteps(absl::Time now, const PlanLoad& load,
                         const DispatcherState& state) {
  Plan* const plan = Find(load.plan);
  if (plan == nullptr) return;
  for (const StepCost& cost : load.steps) plan->steps.Add(now, cost);
  if (!plan->places.empty() || plan->jobs.empty()) return;
  const JobState* job = state.FindJob(*plan->jobs.begin());
  if (job != nullptr) PlacesOf(*job);
}

const CostEstimate& PlanTable::CostOf(const PlanId& plan) const {
  return plans_.at(plan).cost;
}

const StepUse* PlanTable::StepsOf(const PlanId& plan) const {
  const Plan* const known = Find(plan);
  return known == nullptr ? nullptr : &known->steps;
}

uint64_t PlanTable::JobsOf(const PlanId& plan) const {
  const Plan* const known = Find(plan);
  return known == nullptr ? 0 : known->jobs.size();
}

std::vector<std::string> PlanTable::PlacesOf(const JobState& job) {
  Plan* const plan = Find(job.plan);
  if (plan == nullptr) return {};
  if (plan->places.empty() && planner_.name_places) {
    plan->places = planner_.name_places(RunGraph(job));
  }
  return plan->places;
}

std::string PlanTable::PlaceName(const PlanId& plan, uint32_t place) const {
  const Plan* const known = Find(plan);
  if (known != nullptr && place < known->places.size() &&
      !known->places[place].empty()) {
    return known->places[place];
  }
  return fmt::format("place {}", place);
}

}  // namespace feedmill
