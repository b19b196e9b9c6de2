#ifndef FEEDMILL_CORE_DATASET_SKIPPING_H_
#define FEEDMILL_CORE_DATASET_SKIPPING_H_

#include <optional>

#include "absl/status/status.h"
#include "core/dataset/graph.h"

namespace feedmill {

// True if `step` is an on_error that skips failed elements.
bool Skips(const Step& step);

// Returns the combined options of all on_error steps that skip, including steps
// of inputs; nullopt if there are none.
std::optional<OnErrorStep> SkippingOf(const Graph& graph);

// InvalidArgument if two of these steps set the cap or the quarantine.
absl::Status CheckSkipping(const Graph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SKIPPING_H_
