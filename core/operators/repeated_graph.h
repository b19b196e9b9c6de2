#ifndef FEEDMILL_CORE_OPERATORS_REPEATED_GRAPH_H_
#define FEEDMILL_CORE_OPERATORS_REPEATED_GRAPH_H_

#include "core/dataset/graph.h"
#include "core/dataset/graph_text.h"

namespace feedmill {

// Returns the graph that a run in mode `off` reads, for any number of passes:
// the elements of `graph` repeated kPassesMax times. Each pass is complete and
// has its own epoch. A run of n passes ends after the n-th.
Graph RepeatedGraph(const Graph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_REPEATED_GRAPH_H_
