#ifndef FEEDMILL_CORE_OPERATORS_INPUT_CHECKS_H_
#define FEEDMILL_CORE_OPERATORS_INPUT_CHECKS_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// Checks that there are inputs, and not too many; `specs` has one for each.
absl::Status CheckInputs(const std::vector<Graph>& inputs,
                         std::span<const ElementSpec> specs);

// One spec for the elements of all inputs: the same components; a dimension in
// which they differ is not known. InvalidArgument if components differ.
absl::StatusOr<ElementSpec> CommonSpec(std::span<const ElementSpec> inputs);

bool AnyIsEndless(const std::vector<Graph>& inputs);
bool AllAreEndless(const std::vector<Graph>& inputs);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_INPUT_CHECKS_H_
