#ifndef FEEDMILL_WORKER_COMPILED_PLANS_H_
#define FEEDMILL_WORKER_COMPILED_PLANS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/wire/message.h"
#include "worker/compute_task.h"
#include "worker/cost_model.h"
#include "worker/outgoing_stream.h"
#include "worker/shared_results.h"

namespace feedmill {

// A plan of a worker.
struct CompiledPlan {
  enum class State { kDefining, kReady, kFailed };
  State state = State::kDefining;
  absl::Status failure;
  PlanTraits traits;
  uint64_t used = 0;  // number of the last answer with a lease that needs it
  absl::Time needed = absl::InfinitePast();  // time of that answer
  CostModel cost;
  // Fair-share clock: thread nanoseconds divided by the weight. The lowest job
  // is next; idle time counts as used. The plans of a family share one.
  std::shared_ptr<double> served = std::make_shared<double>(0);
  // Bytes of the plan's pieces, which may outlive it.
  std::shared_ptr<uint64_t> made_bytes = std::make_shared<uint64_t>(0);
  // Set by ComputeSchedule before each choice.
  uint64_t taken = 0;                // of the memory
  uint64_t tasks = 0;                // in flight
  uint32_t weight = kDefaultWeight;  // maximum over its streams
  bool reads = false;                // a reader reads it here now
};

// The plans of a worker: being compiled, ready or failed. Keeps a few plans
// that no lease needs. Pure.
class CompiledPlans {
 public:
  CompiledPlan* Find(const PlanId& plan);
  const CompiledPlan* Find(const PlanId& plan) const;
  std::map<PlanId, CompiledPlan>& all() { return plans_; }
  const std::map<PlanId, CompiledPlan>& all() const { return plans_; }

  // A new answer of the dispatcher is handled.
  void BeginAnswer(absl::Time now) {
    ++answers_;
    answered_ = now;
  }
  // Adds the plan. True if it is new and has to be compiled.
  bool Define(const PlanId& plan);
  // The plan's traits are known.
  void SetTraits(CompiledPlan& plan, PlanTraits traits);
  // The present answer has a lease that needs the plan.
  void NoteUse(const PlanId& plan);
  // Returns the plans that run beside and that the present answer does not
  // need.
  std::vector<PlanId> TakeResting();
  // Forgets failed plans without a lease, so that a new attempt compiles them
  // again, and the plans that were not needed for longest. Returns them.
  std::vector<PlanId> ForgetIdle();

  // Returns the key of the pieces that the lease shares with other ranks.
  // Nullopt if no other rank needs the same pieces.
  std::optional<SharedResults::Key> SharedKey(const LeasedSplit& held) const;

 private:
  std::map<PlanId, CompiledPlan> plans_;
  uint64_t answers_ = 0;
  absl::Time answered_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_COMPILED_PLANS_H_
