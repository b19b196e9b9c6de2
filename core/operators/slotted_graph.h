#ifndef FEEDMILL_CORE_OPERATORS_SLOTTED_GRAPH_H_
#define FEEDMILL_CORE_OPERATORS_SLOTTED_GRAPH_H_

#include "core/dataset/graph.h"
#include "core/dataset/graph_text.h"

namespace feedmill {

// Returns the graph that a run in mode `off` reads, for any number of slots:
// the elements of `graph` repeated kSlotsMax times. Each pass is complete and
// has its own epoch. A run with n slots ends after n passes.
Graph SlottedGraph(const Graph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_SLOTTED_GRAPH_H_
