#ifndef FEEDMILL_BROKER_PLAN_TEXT_H_
#define FEEDMILL_BROKER_PLAN_TEXT_H_

#include <cstdint>
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
// `client_bytes`: most bytes that a client receives ahead
// (ReadLimits::budget_bytes).
//
// Counts records like a read; makes no elements. InvalidArgument for an invalid
// graph.
absl::StatusOr<std::string> PlanText(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> functions,
    uint64_t client_bytes);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PLAN_TEXT_H_
