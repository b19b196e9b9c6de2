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

// What a source has, as far as its files are known: its positions and, if it
// is made of inputs, the plan of each and their order. One that is streamed has
// a single position, and its inputs are planned as they are begun.
struct SourcePlan {
  struct Input;

  uint64_t size = 0;  // records, blocks or elements; kEndless without end
  // Of one without end: as Combination::Round says; 0 where it is not known.
  uint64_t round = 0;
  std::shared_ptr<const Combination>
      combination;  // null: no inputs, or streamed
  std::vector<Input> inputs;
  // Behind a cache: the one of what stands before it, in iteration 0; nothing
  // of the above.
  std::vector<Input> cached;
};
struct SourcePlan::Input {
  std::shared_ptr<const Plan> plan;
  SourcePlan source;   // of the input
  uint64_t turns = 1;  // how often one pass of the whole begins it
};

// DataLoss for a manifest of another source; InvalidArgument as Plan::Make and
// Combination::Make. `limit`: as Combination::Make takes it.
absl::StatusOr<SourcePlan> PlanSource(const AnalyzedGraph& graph,
                                      const Manifest& manifest, uint64_t seed,
                                      uint64_t iteration,
                                      uint64_t limit = kEndless);

// The positions of the source, as Plan::Make takes them.
absl::StatusOr<uint64_t> SourceSize(const AnalyzedGraph& graph,
                                    const Manifest& manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_SOURCE_PLAN_H_
