#ifndef FEEDMILL_CORE_DATASET_RANDOM_USE_H_
#define FEEDMILL_CORE_DATASET_RANDOM_USE_H_

#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// True if the graph uses random numbers (random functions and steps, shuffles).
// Then its passes differ, and its elements depend on the seed.
bool UsesRandomNumbers(const Graph& graph, const FunctionRegistry& registry);

// True if the elements depend on the seed of the pipeline: unlike above, not
// for a shuffle with a seed of its own.
bool NeedsSeed(const Graph& graph, const FunctionRegistry& registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_RANDOM_USE_H_
