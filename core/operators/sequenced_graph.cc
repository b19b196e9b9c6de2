#include "core/operators/sequenced_graph.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/dataset/skipping.h"
#include "core/dataset/source_types.h"
#include "core/operators/registry.h"
#include "core/pipeline/input_stream.h"

namespace feedmill {
namespace {

// True if the step may hold many rows, or runs in the reader's Python.
bool StaysAtReader(const Step& step) {
  return step.Is<ShuffleStep>() || step.Is<PythonStep>();
}

// True if the reader tells passes (Reader::pass).
bool Repeats(const Graph& graph) {
  return std::any_of(graph.steps.begin(), graph.steps.end(),
                     [](const Step& step) { return step.Is<RepeatStep>(); });
}

}  // namespace

bool IsWorthSequencing(const AnalyzedGraph& graph) {
  const auto client = graph.graph.steps.begin() +
                      static_cast<std::ptrdiff_t>(graph.client_begin);
  return !graph.graph.sequenced && !graph.numbered &&
         !SkippingOf(graph.graph) && graph.cached == nullptr &&
         graph.part.empty() &&
         graph.graph.options.processing_mode == ProcessingMode::kDynamic &&
         !HasGenerator(graph) && !Repeats(graph.graph) &&
         std::none_of(client, graph.graph.steps.end(), StaysAtReader);
}

Graph SequencedGraph(const Graph& graph) {
  Graph whole;
  whole.options = graph.options;
  whole.plugins = graph.plugins;
  whole.source = MakeSource(ConcatenateSource{{graph}});
  whole.sequenced = true;
  return whole;
}

Graph PipelineOf(const Graph& graph) {
  const std::vector<Graph>* const inputs = SourceInputs(graph.source);
  if (!graph.sequenced || inputs == nullptr || inputs->empty()) return graph;
  Graph pipeline = inputs->front();
  pipeline.options = graph.options;
  pipeline.plugins = graph.plugins;
  return pipeline;
}

Manifest SequencedManifest(Manifest manifest) {
  Manifest whole;
  whole.contents = std::move(manifest.contents);
  manifest.contents.clear();
  whole.inputs.push_back(std::move(manifest));
  return whole;
}

}  // namespace feedmill
