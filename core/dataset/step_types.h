#ifndef FEEDMILL_CORE_DATASET_STEP_TYPES_H_
#define FEEDMILL_CORE_DATASET_STEP_TYPES_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "core/chunk/element_spec.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// What a step needs to know of the sequence, which decides where it runs.
enum class StepNeeds {
  kElement,  // one element alone
  kCounts,   // how many there are (shuffle, repeat)
  kPlace,    // each element's place
  // The elements before it, and their values: after it nobody can tell places
  // without running it.
  kSequence,
};
StepNeeds NeedsOf(const Step& step);

// How many leading dims of each component are batches, after a step that
// `before` of them enter.
size_t BatchesAfter(const Step& step, size_t before);

// Whether steps on single records (decode_image …) can find them after it.
bool KeepsRecords(const Step& step);
bool NeedsRecords(const Step& step);

// What leaves `step` when `input` enters it, after `batches_before` batch
// steps. Checks the step's own values, names, dtypes and shapes; not its place
// among the steps (Analyze does). InvalidArgument says what does not fit.
absl::StatusOr<ElementSpec> StepOutput(const Step& step,
                                       const ElementSpec& input,
                                       size_t batches_before,
                                       const FunctionRegistry& registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STEP_TYPES_H_
