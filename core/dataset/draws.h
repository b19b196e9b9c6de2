#ifndef FEEDMILL_CORE_DATASET_DRAWS_H_
#define FEEDMILL_CORE_DATASET_DRAWS_H_

#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Whether anything in it is drawn (random functions and steps, shuffles): then
// its passes differ, and what it makes depends on the seed.
bool Draws(const Graph& graph, const FunctionRegistry& registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_DRAWS_H_
