#ifndef FEEDMILL_CORE_OPERATORS_INPUT_CHECKS_H_
#define FEEDMILL_CORE_OPERATORS_INPUT_CHECKS_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "feedmill/element.h"

namespace feedmill {

// Checks the number of inputs: at least one, and not too many. `specs` has one
// entry for each.
absl::Status CheckInputs(const std::vector<Graph>& inputs,
                         std::span<const ElementSpec> specs);

// Returns one spec for the elements of all inputs: the same components, with
// unknown dimensions where the inputs differ. InvalidArgument if components
// differ.
absl::StatusOr<ElementSpec> CommonSpec(std::span<const ElementSpec> inputs);

bool AnyIsInfinite(const std::vector<Graph>& inputs);
bool AllAreInfinite(const std::vector<Graph>& inputs);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_INPUT_CHECKS_H_
