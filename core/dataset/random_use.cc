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

}  // namespace

bool UsesRandomNumbers(const Graph& graph, const FunctionRegistry& registry) {
  const auto* inputs = SourceInputs(graph.source);
  const bool below =
      inputs != nullptr &&
      std::any_of(inputs->begin(), inputs->end(), [&](const Graph& input) {
        return UsesRandomNumbers(input, registry);
      });
  return below || std::any_of(graph.steps.begin(), graph.steps.end(),
                              [&](const Step& step) {
                                return UsesRandomNumbers(step, registry);
                              });
}

}  // namespace feedmill
