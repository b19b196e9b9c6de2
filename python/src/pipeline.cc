#include "python/src/pipeline.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"
#include "core/ops/plugin_functions.h"
#include "core/sources/field_inference.h"
#include "feedmill/element.h"
#include "feedmill/reader.h"
#include "python/src/process.h"
#include "python/src/status.h"
#include "tools/command/plan_text.h"

namespace feedmill::python {
namespace {

// Returns the graph as a reader sees it, with inferred fields.
absl::StatusOr<Graph> Completed(const Graph& graph,
                                const FunctionRegistry& functions) {
  Graph completed = graph;
  FM_RETURN_IF_ERROR(InferFields(completed));
  PinPlugins(functions, completed);
  return completed;
}

absl::StatusOr<std::string> Explained(const Graph& graph) {
  FM_ASSIGN_OR_RETURN(const auto functions, DefaultFunctions());
  FM_ASSIGN_OR_RETURN(const Graph completed, Completed(graph, *functions));
  FM_ASSIGN_OR_RETURN(std::string text, PlanText(completed, functions));
  return HideUrlSecrets(std::move(text));
}

absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> Analyzed(
    const Graph& graph) {
  FM_ASSIGN_OR_RETURN(const auto functions, DefaultFunctions());
  FM_ASSIGN_OR_RETURN(const Graph completed, Completed(graph, *functions));
  return Analyze(completed, *functions);
}

bool MakesBatches(const Graph& graph) {
  const auto* inputs = SourceInputs(graph.source);
  size_t batches = inputs != nullptr && std::any_of(inputs->begin(),
                                                    inputs->end(), MakesBatches)
                       ? 1
                       : 0;
  for (const Step& step : graph.steps) batches = BatchesAfter(step, batches);
  return batches > 0;
}

absl::StatusOr<std::string> Outlined(const Graph& graph) {
  FM_ASSIGN_OR_RETURN(const auto functions, DefaultFunctions());
  FM_ASSIGN_OR_RETURN(const auto analyzed, Analyze(graph, *functions));
  return analyzed->Explain();
}

}  // namespace

PythonPipeline::PythonPipeline(std::string_view yaml,
                               const std::string& directory)
    : pipeline_(Take(ParsePipelineYaml(yaml, directory))) {}

bool PythonPipeline::Batched() const { return MakesBatches(graph()); }

std::string PythonPipeline::Explain() const {
  return Take(Interruptible([this] { return Explained(graph()); }));
}

std::string PythonPipeline::Outline() const { return Take(Outlined(graph())); }

std::string PythonPipeline::Canonical() const { return CanonicalText(graph()); }

std::vector<SpecEntry> PythonPipeline::ElementSpec() const {
  const auto analyzed =
      Take(Interruptible([this] { return Analyzed(graph()); }));
  return SpecEntries(*analyzed->output);
}

std::string PythonPipeline::Provenance(uint64_t number, uint64_t epoch,
                                       uint64_t seed, std::string allow_python,
                                       std::string python_path) const {
  ReadOptions options;
  options.epoch = epoch;
  options.seed = seed;
  options.hooks.allow_python = std::move(allow_python);
  options.hooks.python_path = std::move(python_path);
  return Take(
             Interruptible([&] { return ShowBatch(graph(), number, options); }))
      .ToJson();
}

std::vector<SpecEntry> SpecEntries(const feedmill::ElementSpec& spec) {
  std::vector<SpecEntry> entries;
  for (const ComponentSpec& component : spec.components) {
    entries.emplace_back(component.name,
                         std::string(DTypeName(component.dtype)),
                         component.shape);
  }
  return entries;
}

}  // namespace feedmill::python
