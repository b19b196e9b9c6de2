#ifndef FEEDMILL_CORE_PIPELINE_PROVENANCE_H_
#define FEEDMILL_CORE_PIPELINE_PROVENANCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "feedmill/element.h"

namespace feedmill {

// Makes element `number` of a pipeline's sequence again, alone where the plan
// knows its place (AnalyzedGraph::numbered), else by running all before it on
// this thread. Needs the files as they were.
//   OutOfRange   the sequence is shorter
//   others       as OpenLocalSequence
absl::StatusOr<TracedElement> TraceElement(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
    uint64_t seed, uint64_t iteration, uint64_t number);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PROVENANCE_H_
