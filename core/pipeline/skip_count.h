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

// Largest number of elements that the pipeline's on_error may leave out;
// nullopt: any number.
inline std::optional<int64_t> SkipCapOf(const AnalyzedGraph& graph) {
  const auto skipping = SkippingOf(graph.graph);
  return skipping ? skipping->cap : std::nullopt;
}

// Counts the elements that on_error has left out of a reading. Not thread-safe.
class SkipCount {
 public:
  SkipCount(std::optional<int64_t> cap, std::string plan, OnSkipped on_skipped,
            uint64_t before)
      : cap_(cap),
        plan_(std::move(plan)),
        on_skipped_(std::move(on_skipped)),
        count_(before) {}

  uint64_t count() const { return count_; }

  // DataLoss if `skipped` exceeds the cap.
  absl::Status Add(const SkippedElement& skipped);

 private:
  const std::optional<int64_t> cap_;
  const std::string plan_;
  const OnSkipped on_skipped_;  // may be null
  uint64_t count_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_SKIP_COUNT_H_
