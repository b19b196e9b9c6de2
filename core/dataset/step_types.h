#ifndef FEEDMILL_CORE_DATASET_STEP_TYPES_H_
#define FEEDMILL_CORE_DATASET_STEP_TYPES_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "core/chunk/element_spec.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// What leaves `step` when `input` enters it, after `batches_before` batch
// steps. Checks the step's own values, names, dtypes and shapes; not its place
// among the steps (Analyze does). InvalidArgument says what does not fit.
absl::StatusOr<ElementSpec> StepOutput(const Step& step,
                                       const ElementSpec& input,
                                       size_t batches_before,
                                       const FunctionRegistry& registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STEP_TYPES_H_
