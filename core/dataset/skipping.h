#ifndef FEEDMILL_CORE_DATASET_SKIPPING_H_
#define FEEDMILL_CORE_DATASET_SKIPPING_H_

#include <optional>

#include "absl/status/status.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Whether it is an on_error that leaves out what cannot be made.
bool Skips(const Step& step);

// What all on_error steps that skip, those of inputs too, say together of what
// is left out; none if nothing is.
std::optional<OnErrorStep> SkippingOf(const Graph& graph);

// InvalidArgument if two of them set the cap, or the quarantine.
absl::Status CheckSkipping(const Graph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SKIPPING_H_
