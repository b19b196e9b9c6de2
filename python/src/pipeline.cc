#include "python/src/pipeline.h"

#include <utility>

#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/plugin_pins.h"
#include "core/ops/plugin_functions.h"
#include "core/sources/field_inference.h"
#include "feedmill/element_spec.h"
#include "python/src/status.h"
#include "tools/command/plan_text.h"

namespace feedmill::python {
namespace {

// Returns the graph as a reader sees it, with inferred fields.
Graph Completed(const Graph& graph, const FunctionRegistry& functions) {
  Graph completed = graph;
  Check(InferFields(completed));
  PinPlugins(functions, completed);
  return completed;
}

}  // namespace

PythonPipeline::PythonPipeline(std::string_view yaml,
                               const std::string& directory)
    : pipeline_(Take(ParsePipelineYaml(yaml, directory))) {}

std::string PythonPipeline::Explain() const {
  const auto functions = Take(DefaultFunctions());
  return Take(PlanText(Completed(graph(), *functions), functions));
}

std::string PythonPipeline::Canonical() const { return CanonicalText(graph()); }

std::vector<SpecEntry> PythonPipeline::ElementSpec() const {
  const auto functions = Take(DefaultFunctions());
  const auto analyzed =
      Take(Analyze(Completed(graph(), *functions), *functions));
  return SpecEntries(*analyzed->output);
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
