#include "core/dataset/python_functions.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// Calls f(code, where, load) for the Python functions that `part` runs, until
// it fails. `code` is a GeneratorSource or a PythonStep; load(python) returns
// the function.
template <class F>
absl::Status ForEachFunction(const AnalyzedGraph& graph, PythonPart part,
                             const F& f) {
  const bool client = part == PythonPart::kClientStage;
  if (!client) {
    for (const auto& input : graph.inputs) {
      FM_RETURN_IF_ERROR(ForEachFunction(*input, part, f));
    }
    if (const auto* source = graph.graph.source.As<GeneratorSource>()) {
      FM_RETURN_IF_ERROR(
          f(*source, std::string("source generator"),
            [&](PythonFunctions& all) { return all.LoadGenerator(*source); }));
    }
  }
  const size_t begin = client ? graph.client_begin : 0;
  const size_t end =
      part == PythonPart::kWorker ? graph.client_begin : graph.steps.size();
  for (size_t s = begin; s < end; ++s) {
    const auto* step = graph.graph.steps[s].As<PythonStep>();
    if (step == nullptr) continue;
    FM_RETURN_IF_ERROR(
        f(*step, fmt::format("steps[{}] python", s), [&](PythonFunctions& all) {
          return all.Load(PythonCallOf(graph, s));
        }));
  }
  return absl::OkStatus();
}

}  // namespace

ElementSpec SpecOfPython(const Features& output) {
  ElementSpec spec;
  for (const Feature& component : output) {
    spec.components.push_back(
        {component.name, component.dtype, component.shape, component.logical});
  }
  return spec;
}

absl::Status CheckPythonCode(const std::string& function,
                             double timeout_seconds, int64_t memory_bytes) {
  std::string pickled;
  if (function.empty() || !absl::Base64Unescape(function, &pickled)) {
    return InvalidArgument("function is no Base64 text");
  }
  if (!(timeout_seconds > 0) || timeout_seconds > 1e6) {
    return InvalidArgument("timeout_seconds must be above 0, at most 1e6");
  }
  if (memory_bytes < 0) {
    return InvalidArgument("memory_bytes must not be negative");
  }
  return absl::OkStatus();
}

absl::Status CheckPythonOutput(const Features& output) {
  std::set<std::string> names;
  for (const Feature& component : output) {
    if (component.default_text) {
      return InvalidArgument("output {}: a default has no meaning here",
                             component.name);
    }
    if (!names.insert(component.name).second) {
      return InvalidArgument("output has {} twice", component.name);
    }
  }
  if (names.contains("") && names.size() > 1) {
    return InvalidArgument("a single component alone may have no name");
  }
  return absl::OkStatus();
}

ElementSpec PythonOutput(const PythonStep& step) {
  if (step.call == PythonStep::Call::kFilter) {
    return {{{"", DType::kBool, {}}}};
  }
  return SpecOfPython(step.output);
}

PythonCall PythonCallOf(const AnalyzedGraph& graph, size_t s) {
  const auto& step = graph.graph.steps[s].Get<PythonStep>();
  return {step, graph.InputOf(s), PythonOutput(step)};
}

std::vector<PythonNeeds> PythonNeedsOf(const AnalyzedGraph& graph,
                                       PythonPart part) {
  std::vector<PythonNeeds> all;
  static_cast<void>(ForEachFunction(
      graph, part, [&](const auto& code, const std::string&, const auto&) {
        PythonNeeds needs{code.python, code.packages};
        if (std::find(all.begin(), all.end(), needs) == all.end()) {
          all.push_back(std::move(needs));
        }
        return absl::OkStatus();
      }));
  return all;
}

absl::StatusOr<std::vector<std::shared_ptr<void>>> LoadPython(
    const AnalyzedGraph& graph, const FunctionRegistry& registry,
    std::string_view who, PythonPart part) {
  std::vector<std::shared_ptr<void>> loaded;
  const auto prepare = [&](const auto& code, const std::string& where,
                           const auto& load) {
    if (registry.python() == nullptr) {
      return FailedPrecondition(
          "{}: {} allows no Python functions (this one is of Python {}); start "
          "it with --allow-python=/path/to/python",
          where, who, code.python);
    }
    const auto function = load(*registry.python());
    loaded.push_back(function);
    return Annotate(function->Prepare(),
                    fmt::format("{}: {} cannot run the function", where, who));
  };
  FM_RETURN_IF_ERROR(ForEachFunction(graph, part, prepare));
  return loaded;
}

}  // namespace feedmill
