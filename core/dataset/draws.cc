#include "core/dataset/draws.h"

#include <algorithm>
#include <variant>

#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

bool Draws(const Expr& expr, const FunctionRegistry& registry) {
  const auto* call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr) return false;
  const FunctionRegistry::Function* found = registry.Find(call->function);
  return (found != nullptr && found->random) ||
         std::any_of(call->arguments.begin(), call->arguments.end(),
                     [&](const Expr& one) { return Draws(one, registry); });
}

bool Draws(const Step& step, const FunctionRegistry& registry) {
  const auto any = [&](const auto& outputs) {
    return std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) {
      return Draws(output.second, registry);
    });
  };
  if (const auto* map = std::get_if<MapStep>(&step)) return any(map->outputs);
  if (const auto* map = std::get_if<FlatMapStep>(&step)) {
    return any(map->outputs);
  }
  if (const auto* filter = std::get_if<FilterStep>(&step)) {
    return Draws(filter->predicate, registry);
  }
  return std::holds_alternative<RandomFlipStep>(step) ||
         std::holds_alternative<ShuffleStep>(step);
}

}  // namespace

bool Draws(const Graph& graph, const FunctionRegistry& registry) {
  const auto* inputs = SourceInputs(graph.source);
  const bool below =
      inputs != nullptr &&
      std::any_of(inputs->begin(), inputs->end(),
                  [&](const Graph& input) { return Draws(input, registry); });
  return below ||
         std::any_of(graph.steps.begin(), graph.steps.end(),
                     [&](const Step& step) { return Draws(step, registry); });
}

}  // namespace feedmill
