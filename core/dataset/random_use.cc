#include "core/dataset/random_use.h"

#include <algorithm>
#include <variant>

#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"

namespace feedmill {
namespace {

bool UsesRandomNumbers(const Expr& expr, const FunctionRegistry& registry) {
  const auto* call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr) return false;
  const FunctionRegistry::Function* found = registry.Find(call->function);
  return (found != nullptr && found->random) ||
         std::any_of(
             call->arguments.begin(), call->arguments.end(),
             [&](const Expr& one) { return UsesRandomNumbers(one, registry); });
}

bool UsesRandomNumbers(const Step& step, const FunctionRegistry& registry) {
  bool random = TraitsOf(step).random;
  step.ReadFields([&](const FieldList& fields) {
    ForEachExpr(fields, [&](const Expr& expr) {
      random = random || UsesRandomNumbers(expr, registry);
    });
  });
  return random;
}

// True if `uses` is true for a step of the graph, or of an input of it.
template <class Uses>
bool AnyStep(const Graph& graph, const Uses& uses) {
  const auto* inputs = SourceInputs(graph.source);
  return (inputs != nullptr && std::any_of(inputs->begin(), inputs->end(),
                                           [&](const Graph& input) {
                                             return AnyStep(input, uses);
                                           })) ||
         std::any_of(graph.steps.begin(), graph.steps.end(), uses);
}

}  // namespace

bool UsesRandomNumbers(const Graph& graph, const FunctionRegistry& registry) {
  return AnyStep(graph, [&](const Step& step) {
    return UsesRandomNumbers(step, registry);
  });
}

bool NeedsSeed(const Graph& graph, const FunctionRegistry& registry) {
  return AnyStep(graph, [&](const Step& step) {
    const auto* sample = step.As<WeightedSampleStep>();
    if (sample != nullptr) return !sample->seed.has_value();
    const auto* shuffle = step.As<ShuffleStep>();
    return shuffle != nullptr ? !shuffle->seed.has_value()
                              : UsesRandomNumbers(step, registry);
  });
}

}  // namespace feedmill
