#include "core/dataset/python_functions.h"

#include <string>

#include "core/base/status.h"

namespace feedmill {
namespace {

// Calls f(graph, s) for the Python steps that `part` runs, until it fails.
template <class F>
absl::Status ForEachCall(const AnalyzedGraph& graph, PythonPart part,
                         const F& f) {
  const bool client = part == PythonPart::kClientStage;
  if (!client) {
    for (const auto& input : graph.inputs) {
      FM_RETURN_IF_ERROR(ForEachCall(*input, part, f));
    }
  }
  const size_t begin = client ? graph.client_begin : 0;
  const size_t end =
      part == PythonPart::kWorker ? graph.client_begin : graph.steps.size();
  for (size_t s = begin; s < end; ++s) {
    if (graph.graph.steps[s].Is<PythonStep>()) FM_RETURN_IF_ERROR(f(graph, s));
  }
  return absl::OkStatus();
}

}  // namespace

ElementSpec PythonOutput(const PythonStep& step) {
  if (step.call == PythonStep::Call::kFilter) {
    return {{{"", DType::kBool, {}}}};
  }
  ElementSpec spec;
  for (const Feature& component : step.output) {
    spec.components.push_back(
        {component.name, component.dtype, component.shape});
  }
  return spec;
}

PythonCall PythonCallOf(const AnalyzedGraph& graph, size_t s) {
  const auto& step = graph.graph.steps[s].Get<PythonStep>();
  return {step, graph.InputOf(s), PythonOutput(step)};
}

std::vector<const PythonStep*> PythonSteps(const AnalyzedGraph& graph,
                                           PythonPart part) {
  std::vector<const PythonStep*> steps;
  static_cast<void>(
      ForEachCall(graph, part, [&](const AnalyzedGraph& of, size_t s) {
        steps.push_back(&of.graph.steps[s].Get<PythonStep>());
        return absl::OkStatus();
      }));
  return steps;
}

absl::StatusOr<std::vector<std::shared_ptr<PythonFunction>>> LoadPython(
    const AnalyzedGraph& graph, const FunctionRegistry& registry,
    std::string_view who, PythonPart part) {
  std::vector<std::shared_ptr<PythonFunction>> loaded;
  const auto load = [&](const AnalyzedGraph& of, size_t s) {
    const PythonCall call = PythonCallOf(of, s);
    const std::string where = fmt::format("steps[{}] python", s);
    if (registry.python() == nullptr) {
      return FailedPrecondition(
          "{}: {} allows no Python functions (this one is of Python {}); start "
          "it with --allow-python=/path/to/python",
          where, who, call.step.python);
    }
    loaded.push_back(registry.python()->Load(call));
    return Annotate(loaded.back()->Prepare(),
                    fmt::format("{}: {} cannot run the function", where, who));
  };
  FM_RETURN_IF_ERROR(ForEachCall(graph, part, load));
  return loaded;
}

}  // namespace feedmill
