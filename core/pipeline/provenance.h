#ifndef FEEDMILL_CORE_PIPELINE_PROVENANCE_H_
#define FEEDMILL_CORE_PIPELINE_PROVENANCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/chunk.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"

namespace feedmill {

// A record of a source that an element was made of.
struct RecordOrigin {
  std::string file;  // "" where there are none, or several sources
  // Its number in the file, or in what several sources together make; from 0.
  uint64_t record = 0;
  uint64_t epoch = 0;  // the combined pass of all repeats
};

// An element of a sequence, and what made it.
struct TracedElement {
  Chunk element;  // one row
  std::vector<RecordOrigin> records;
};

// Makes element `number` of a pipeline's sequence again, alone. Needs the files
// as they were.
//   FailedPrecondition   its place is not known beforehand
//                        (AnalyzedGraph::numbered)
//   OutOfRange           the sequence is shorter
//   others               as LocalReader
absl::StatusOr<TracedElement> TraceElement(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
    uint64_t seed, uint64_t iteration, uint64_t number);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PROVENANCE_H_
