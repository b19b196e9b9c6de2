#ifndef FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_
#define FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_

#include <cstdint>
#include <string>

#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill::testing {

// Makes small files for random pipelines below `directory`: text/, records/
// (TFRecords of tf.train.Examples) and photos/ (JPEGs in two folders).
void MakeFixtureFiles(const std::string& directory);

// Returns a pipeline that Analyze accepts, with any source and steps in any
// order. Equal seeds give equal pipelines. options.seed is set.
Graph RandomGraph(uint64_t seed, const std::string& directory,
                  const FunctionRegistry& registry);

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_
