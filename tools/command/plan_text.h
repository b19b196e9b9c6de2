#ifndef FEEDMILL_TOOLS_COMMAND_PLAN_TEXT_H_
#define FEEDMILL_TOOLS_COMMAND_PLAN_TEXT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// What `read --explain` prints: where each step runs and what leaves it
// (AnalyzedGraph::Explain), which steps run as one pass, which steps of the
// plan stand elsewhere than they are written, components that nothing needs;
// and, as far as the files can be seen from here, how many positions there are,
// the splits that a service makes of them and the memory that reading takes,
// with the settings' defaults. Counts records as a read would; makes no
// element. InvalidArgument for a graph that cannot be.
absl::StatusOr<std::string> PlanText(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> functions);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_PLAN_TEXT_H_
