#include "core/dataset/plugin_pins.h"

#include <string>

#include "core/base/status.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

class Pinner {
 public:
  Pinner(const FunctionRegistry& registry,
         std::map<std::string, std::string>& pins)
      : registry_(registry), pins_(pins) {}

  void Pin(const Graph& graph) {
    if (const auto* inputs = SourceInputs(graph.source)) {
      for (const Graph& input : *inputs) Pin(input);
    }
    for (const Step& step : graph.steps) {
      step.ReadFields([this](const FieldList& fields) {
        ForEachExpr(fields, [this](const Expr& expr) { Pin(expr); });
      });
    }
  }

 private:
  void Pin(const Expr& expr) {
    // Analyze rejects larger expressions.
    if (expr.height() <= Expr::kHeightMax && expr.nodes() <= Expr::kNodesMax) {
      PinCalls(expr);
    }
  }

  void PinCalls(const Expr& expr) {
    const auto* call = std::get_if<Expr::Call>(&expr.node());
    if (call == nullptr) return;
    const FunctionRegistry::Function* found = registry_.Find(call->function);
    if (found != nullptr && !found->plugin.empty()) {
      pins_.insert_or_assign(call->function, found->plugin);
    }
    for (const Expr& argument : call->arguments) PinCalls(argument);
  }

  const FunctionRegistry& registry_;
  std::map<std::string, std::string>& pins_;
};

}  // namespace

void PinPlugins(const FunctionRegistry& registry, Graph& graph) {
  graph.plugins.clear();
  Pinner(registry, graph.plugins).Pin(graph);
}

absl::Status CheckPlugins(const Graph& graph, const FunctionRegistry& registry,
                          std::string_view who) {
  for (const auto& [name, plugin] : graph.plugins) {
    const FunctionRegistry::Function* found = registry.Find(name);
    if (found == nullptr) {
      return FailedPrecondition(
          "the pipeline calls {} of the plugin {}, which {} lacks: give it "
          "--op-plugin FILE or the variable FEEDMILL_OP_PLUGINS",
          name, plugin, who);
    }
    if (found->plugin != plugin) {
      return FailedPrecondition(
          "the pipeline calls {} of the plugin {}, but {} has {}: give all "
          "processes the same version",
          name, plugin, who,
          found->plugin.empty() ? "a function of its own of that name"
                                : "that of " + found->plugin);
    }
  }
  return absl::OkStatus();
}

}  // namespace feedmill
