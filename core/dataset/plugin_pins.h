#ifndef FEEDMILL_CORE_DATASET_PLUGIN_PINS_H_
#define FEEDMILL_CORE_DATASET_PLUGIN_PINS_H_

#include <string_view>

#include "absl/status/status.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Writes into graph.plugins which functions of plugins its expressions call,
// and of which version they are in `registry`: part of the pipeline from then
// on, so that one version alone ever computes it.
void PinPlugins(const FunctionRegistry& registry, Graph& graph);

// That `registry` has the functions of graph.plugins in those versions.
// FailedPrecondition names the function, the version and what to set; `who`
// lacks it: "the dispatcher".
absl::Status CheckPlugins(const Graph& graph, const FunctionRegistry& registry,
                          std::string_view who);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_PLUGIN_PINS_H_
