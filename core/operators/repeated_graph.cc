#include "core/operators/repeated_graph.h"

#include "core/operators/registry.h"

namespace feedmill {

Graph RepeatedGraph(const Graph& graph) {
  Graph repeated = graph;
  repeated.steps.push_back(
      MakeStep(RepeatStep{static_cast<int64_t>(kPassesMax)}));
  return repeated;
}

}  // namespace feedmill
