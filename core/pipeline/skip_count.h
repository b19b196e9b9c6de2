#ifndef FEEDMILL_CORE_PIPELINE_SKIP_COUNT_H_
#define FEEDMILL_CORE_PIPELINE_SKIP_COUNT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/chunk/skipped_element.h"
#include "core/dataset/analysis.h"
#include "core/dataset/skipping.h"

namespace feedmill {

// Called for each element that on_error skips in a reading of `plan`
// (PlanIdOf). An error ends the reading.
using OnSkipped = std::function<absl::Status(const std::string& plan,
                                             const SkippedElement& skipped)>;

// Counts the elements that on_error has skipped in a reading. Not thread-safe.
class SkipCount {
 public:
  SkipCount(const AnalyzedGraph& graph, std::string plan, OnSkipped on_skipped,
            uint64_t before = 0)
      : plan_(std::move(plan)),
        on_skipped_(std::move(on_skipped)),
        count_(before) {
    if (const auto skips = SkippingOf(graph.graph)) cap_ = skips->cap;
  }

  uint64_t count() const { return count_; }

  // DataLoss if `skipped` exceeds the step's limit.
  absl::Status Add(const SkippedElement& skipped);

 private:
  const std::string plan_;
  std::optional<int64_t> cap_;
  OnSkipped on_skipped_;  // may be null
  uint64_t count_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_SKIP_COUNT_H_
