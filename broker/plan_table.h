#ifndef FEEDMILL_BROKER_PLAN_TABLE_H_
#define FEEDMILL_BROKER_PLAN_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "broker/dispatcher_state.h"
#include "broker/load_window.h"
#include "broker/planner.h"
#include "broker/split_sizer.h"
#include "core/wire/message.h"

namespace feedmill {

// Properties of the plans that running jobs read: the costs that workers
// measured, and results of the planner, computed at the first use. Jobs with
// equal plans share an entry. Pure.
class PlanTable {
 public:
  // `planner` must outlive this object.
  explicit PlanTable(const Planner& planner) : planner_(planner) {}

  // Adds a job whose run was planned, and removes it. The costs of a plan
  // without jobs are kept for later runs of its graph.
  void Begin(const JobState& job);
  void End(const JobState& job);

  bool Knows(const PlanId& plan) const { return plans_.contains(plan); }
  // Returns the graph that the workers of a planned run read.
  const std::string& RunGraph(const JobState& job);
  // True if the number of each element is known before the element is made.
  // True for an unknown plan.
  bool Numbered(const JobState& job);
  // Returns the source's round (SourcePlan::round) for clients. After a restart
  // it is computed again from the journaled job.
  uint64_t SourceRound(const JobState& job);
  // REQUIRES: Begin was called for a job of the plan.
  void SetSourceRound(const PlanId& plan, uint64_t round);

  // Returns what the Python functions of the job need that workers run; null if
  // they run none, or if the plan is unknown.
  PythonNeedsPtr PythonNeedsOf(const JobState& job);
  // The same of a plan for which PythonNeedsOf was called; else null.
  PythonNeedsPtr KnownPythonNeeds(const PlanId& plan) const;

  // Adds a measurement. No effect on unknown plans.
  void AddCost(const PlanCost& cost);
  void AddSteps(absl::Time now, const PlanLoad& load,
                const DispatcherState& state);
  // REQUIRES: Begin was called for a job of the plan.
  const CostEstimate& CostOf(const PlanId& plan) const;
  // Returns the sampled costs of the steps; null for an unknown plan.
  const StepUse* StepsOf(const PlanId& plan) const;
  // Returns the number of jobs that read the plan.
  uint64_t JobsOf(const PlanId& plan) const;

  // Returns the names of the job's steps, by StepCost::place. Empty for an
  // unknown plan.
  std::vector<std::string> PlacesOf(const JobState& job);
  // Returns the name of a place of a known plan.
  std::string PlaceName(const PlanId& plan, uint32_t place) const;

 private:
  struct Plan {
    CostEstimate cost;
    std::set<JobName> jobs;
    std::optional<std::string> graph{};  // the graph that workers run
    std::optional<bool> numbered{};
    std::optional<PythonNeedsPtr> python_needs{};
    std::optional<uint64_t> source_round{};
    StepUse steps{};                  // samples, for operators
    std::vector<std::string> places;  // names of places
  };
  const Plan* Find(const PlanId& plan) const;
  Plan* Find(const PlanId& plan);

  const Planner& planner_;
  std::map<PlanId, Plan> plans_;
  PastCosts past_costs_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PLAN_TABLE_H_
