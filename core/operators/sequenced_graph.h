#ifndef FEEDMILL_CORE_OPERATORS_SEQUENCED_GRAPH_H_
#define FEEDMILL_CORE_OPERATORS_SEQUENCED_GRAPH_H_

#include <string>

#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/io/manifest.h"

namespace feedmill {

// A sequenced run is one of several ranks. One worker at a time runs all steps
// and puts the elements in order, so that a rank need not receive the elements
// of others. Without that, each rank runs the client's steps over all elements.
//
// Its plan has one position, which is the whole sequence. Element n is row n of
// that position: no on_error leaves out elements.

// True if ranks gain by it and can be read so: the plan alone cannot number the
// elements, no on_error skips any, and the client's steps hold few rows.
bool IsWorthSequencing(const AnalyzedGraph& graph);
// Returns the graph that workers run: a source with the whole pipeline as its
// only input, marked by Graph::sequenced.
Graph SequencedGraph(const Graph& graph);
// Returns the pipeline of a SequencedGraph; others are their own.
Graph PipelineOf(const Graph& graph);
// Returns the manifest of a SequencedGraph.
Manifest SequencedManifest(Manifest manifest);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_SEQUENCED_GRAPH_H_
