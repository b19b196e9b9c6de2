#ifndef FEEDMILL_CORE_PLAN_PLAN_BUILDER_H_
#define FEEDMILL_CORE_PLAN_PLAN_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "core/plan/plan.h"

namespace feedmill {

// Makes a Plan step by step: StepKind::AddToPlan calls one of these methods.
// For a step that the client runs, the methods do nothing. Repeat is the
// exception, because the client stage reads the workers' elements again.
// Negative counts mean 0.
// InvalidArgument if the step cannot be in a plan: it needs all elements of an
// infinite input, or there would be more than 2^63 positions or passes.
class PlanBuilder {
 public:
  // Without a count, the repeat is infinite.
  absl::Status Repeat(std::optional<int64_t> count);
  absl::Status ShuffleAll();
  // Shuffles within runs of `window` positions.
  absl::Status ShuffleWindow(int64_t window);
  // Shuffles blocks of `block` positions, then within `window` adjacent
  // blocks (8 if absent).
  absl::Status ShuffleBlocks(int64_t block, std::optional<int64_t> window);
  absl::Status Take(int64_t count);
  absl::Status Skip(int64_t count);
  absl::Status Shard(int64_t count, int64_t index);
  // InvalidArgument if the input has no position with the last index.
  absl::Status Subset(const std::vector<int64_t>& indices);
  // InvalidArgument also if the weights do not fit the number of positions.
  absl::Status WeightedSample(const WeightedSampleStep& step);
  absl::Status Batch(int64_t size, bool drop_remainder);

 private:
  friend class Plan;

  explicit PlanBuilder(Plan& plan) : plan_(plan) {}

  // Begins step `step`.
  void Begin(size_t step);
  bool in_plan() const;
  // Adds a level that makes `output` positions.
  absl::Status Add(Plan::Level::Kind kind, uint64_t count, uint64_t output);
  absl::Status NeedsEnd() const;

  Plan& plan_;
  size_t step_ = 0;
  // The combined count of the repeats so far; kInfinite if one is infinite.
  uint64_t passes_ = 1;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PLAN_BUILDER_H_
