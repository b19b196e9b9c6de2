#include "core/operators/slotted_graph.h"

#include "core/operators/registry.h"

namespace feedmill {

Graph SlottedGraph(const Graph& graph) {
  Graph slotted = graph;
  slotted.steps.push_back(
      MakeStep(RepeatStep{static_cast<int64_t>(kSlotsMax)}));
  return slotted;
}

}  // namespace feedmill
