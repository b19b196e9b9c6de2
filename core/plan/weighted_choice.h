#ifndef FEEDMILL_CORE_PLAN_WEIGHTED_CHOICE_H_
#define FEEDMILL_CORE_PLAN_WEIGHTED_CHOICE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/philox.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

// Choice of `count` of `inputs` elements in proportion to weights, by a grid
// (systematic sampling). Each element has an interval whose length is in
// proportion to its weight, and is chosen once for each point of the grid in
// it. The points have the distance D, and begin at a random number below D. So
// an element, and any run of intervals, is chosen floor(E) or ceil(E) times, E
// being its share times `count`.
//
// Immutable; any thread.
class WeightedChoice {
 public:
  // InvalidArgument if the options do not fit `inputs` elements.
  static absl::StatusOr<WeightedChoice> Make(const WeightedSampleStep& step,
                                             uint64_t inputs);
  // Checks the options without the input.
  static absl::Status Check(const WeightedSampleStep& step);

  uint64_t count() const { return count_; }
  // Returns the place of the first point for a key: a number below D.
  uint64_t BeginOf(RandomKey key) const;
  // Returns the element of point `point`. REQUIRES: point < count(), and
  // begin < D.
  uint64_t At(uint64_t point, uint64_t begin) const;

 private:
  WeightedChoice() = default;
  // Makes no interval longer than D.
  void Limit(std::vector<uint64_t>& lengths) const;

  uint64_t count_ = 0;
  uint64_t distance_ = 1;        // D
  std::vector<uint64_t> ends_;   // of the intervals
  std::vector<uint64_t> order_;  // element of each interval; empty: the same
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_WEIGHTED_CHOICE_H_
