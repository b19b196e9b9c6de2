#ifndef FEEDMILL_CORE_DATASET_PLUGIN_PINS_H_
#define FEEDMILL_CORE_DATASET_PLUGIN_PINS_H_

#include <string_view>

#include "absl/status/status.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Sets graph.plugins to the plugin functions that its expressions call, with
// their versions in `registry`. They are part of the pipeline from then on, so
// that only these versions ever compute it.
void PinPlugins(const FunctionRegistry& registry, Graph& graph);

// Checks that `registry` has the functions of graph.plugins in those versions.
// FailedPrecondition names the function, the version, the process that lacks it
// (`who`: "the dispatcher") and what to set.
absl::Status CheckPlugins(const Graph& graph, const FunctionRegistry& registry,
                          std::string_view who);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_PLUGIN_PINS_H_
