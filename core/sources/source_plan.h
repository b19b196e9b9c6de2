#ifndef FEEDMILL_CORE_SOURCES_SOURCE_PLAN_H_
#define FEEDMILL_CORE_SOURCES_SOURCE_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/analysis.h"
#include "core/io/manifest.h"
#include "core/plan/combination.h"
#include "core/plan/plan.h"

namespace feedmill {

// The positions of a source, given its files. For a combining source, also the
// plan of each input and their order. A streamed source has a single position;
// its inputs are planned when they are begun.
struct SourcePlan {
  struct Input;

  uint64_t size = 0;  // records, blocks or elements; kInfinite: infinite
  // Period of an infinite source, as returned by Combination::Round; 0 if
  // unknown.
  uint64_t round = 0;
  std::shared_ptr<const Combination>
      combination;  // null: no inputs, or streamed
  std::vector<Input> inputs;
  // For the steps after a cache: the plan of the steps before it, in iteration
  // 0. Then the fields above are empty.
  std::vector<Input> cached;
};
struct SourcePlan::Input {
  std::shared_ptr<const Plan> plan;
  SourcePlan source;   // of the input
  uint64_t turns = 1;  // times that one pass of the whole begins it
};

// Returns the plan of the source. DataLoss for a manifest of another source;
// InvalidArgument as from Plan::Make and InputCombiner::Combine, which also
// define `limit`.
absl::StatusOr<SourcePlan> PlanSource(const AnalyzedGraph& graph,
                                      const Manifest& manifest, uint64_t seed,
                                      uint64_t iteration,
                                      uint64_t limit = kInfinite);

// Returns the number of positions of the source, for Plan::Make.
absl::StatusOr<uint64_t> SourceSize(const AnalyzedGraph& graph,
                                    const Manifest& manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_SOURCE_PLAN_H_
