#ifndef FEEDMILL_CORE_OPERATORS_SLOTTED_GRAPH_H_
#define FEEDMILL_CORE_OPERATORS_SLOTTED_GRAPH_H_

#include "core/dataset/graph.h"
#include "core/dataset/graph_text.h"

namespace feedmill {

// The graph that a run in mode `off` reads, however many slots it has: all
// elements of `graph` kSlotsMax times, one whole pass after the other, each
// with its own epoch. A run of n slots ends after n passes.
Graph SlottedGraph(const Graph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_SLOTTED_GRAPH_H_
