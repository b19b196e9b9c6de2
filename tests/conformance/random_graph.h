#ifndef FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_
#define FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_

#include <cstdint>
#include <string>

#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill::testing {

// Small files for random pipelines to read, made below `directory`: text/,
// records/ (TFRecords of tf.train.Examples) and photos/ (JPEGs in two folders).
void MakeFixtureFiles(const std::string& directory);

// A pipeline that Analyze accepts, of any source and steps in any order. The
// same seed gives the same pipeline. options.seed is set.
Graph RandomGraph(uint64_t seed, const std::string& directory,
                  const FunctionRegistry& registry);

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_CONFORMANCE_RANDOM_GRAPH_H_
