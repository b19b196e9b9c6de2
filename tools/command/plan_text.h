#ifndef FEEDMILL_TOOLS_COMMAND_PLAN_TEXT_H_
#define FEEDMILL_TOOLS_COMMAND_PLAN_TEXT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Returns the text of `read --explain`:
//   - where each step runs, and its output (AnalyzedGraph::Explain)
//   - steps that run as one pass, steps that run earlier than written, and
//     components that no step needs
//   - if the files are accessible here: the number of positions, the splits
//     that a service makes of them, and the memory of a read with default
//     settings
//
// Counts records like a read; makes no elements. InvalidArgument for an invalid
// graph.
absl::StatusOr<std::string> PlanText(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> functions);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_PLAN_TEXT_H_
