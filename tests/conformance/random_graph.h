#ifndef FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_
#define FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_

#include <cstdint>
#include <string>

#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill::testing {

// Returns a pipeline over the files that MakeFixtureFiles made in `directory`.
// Analyze accepts it; it has any source, and steps in any order. Equal seeds
// give equal pipelines. options.seed is set.
Graph RandomGraph(uint64_t seed, const std::string& directory,
                  const FunctionRegistry& registry);

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_
