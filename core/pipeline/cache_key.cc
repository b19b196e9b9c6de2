#include "core/pipeline/cache_key.h"

#include <algorithm>
#include <variant>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/named_files.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/source_types.h"
#include "core/plan/plan_id.h"

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

}  // namespace

std::string CacheKey(const Plan& plan, const Manifest& manifest,
                     const std::vector<NamedContent>& contents,
                     const FunctionRegistry& registry) {
  const AnalyzedGraph& analyzed = plan.graph();
  Graph graph = analyzed.graph;
  graph.options = {};
  PinPlugins(registry, graph);
  std::string text = fmt::format("{}\n{}\n{}\n", FEEDMILL_VERSION,
                                 plan.source_size(), analyzed.source.counted);
  for (const NamedFile& file : NamedFiles(graph)) {
    for (const NamedContent& content : contents) {
      if (content.path != file.path) continue;
      text += fmt::format("{} {}\n", content.hash_high, content.hash_low);
    }
  }
  if (Draws(graph, registry)) {
    text += fmt::format("{} {}\n", plan.seed(), analyzed.first_step);
  }
  return PlanIdOf(CanonicalText(graph) + "\n" + text, manifest.Hash(), 0, 0);
}

}  // namespace feedmill
