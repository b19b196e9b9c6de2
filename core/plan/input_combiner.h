#ifndef FEEDMILL_CORE_PLAN_INPUT_COMBINER_H_
#define FEEDMILL_CORE_PLAN_INPUT_COMBINER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/plan/combination.h"
#include "core/plan/input_selector.h"

namespace feedmill {

// The order in which a kind of source (SourceKind::combiner) reads its inputs.
// `options` belongs to a source of the kind. CombiningSourceOf
// (core/operators/combining_source_of.h) implements it.
//
// Thread-safety: immutable; any thread.
class InputCombiner {
 public:
  virtual ~InputCombiner() = default;

  // Returns the order of inputs that have `sizes` elements each (kInfinite:
  // infinite). One pass reads at most `limit` elements. InvalidArgument if
  // there are more than 2^63 elements, or if an input without elements has to
  // begin again. REQUIRES: `sizes` is not empty.
  virtual absl::StatusOr<std::shared_ptr<const Combination>> Combine(
      const void* options, std::vector<uint64_t> sizes,
      uint64_t limit) const = 0;
  // Returns the same order for inputs of unknown size; null for a source that
  // pairs its inputs. REQUIRES: the options were checked.
  virtual std::unique_ptr<InputSelector> MakeSelector(
      const void* options) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_INPUT_COMBINER_H_
