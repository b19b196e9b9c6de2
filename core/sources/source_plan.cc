#include "core/sources/source_plan.h"

#include <optional>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/sources/record_format.h"

namespace feedmill {
namespace {

// Returns the plan of an input; one pass reads at most `limit` positions of it.
absl::StatusOr<SourcePlan::Input> PlanInput(
    const std::shared_ptr<const AnalyzedGraph>& graph, const Manifest& manifest,
    uint64_t seed, uint64_t iteration, uint64_t limit) {
  SourcePlan::Input input;
  FM_ASSIGN_OR_RETURN(input.source,
                      PlanSource(*graph, manifest, seed, iteration));
  FM_ASSIGN_OR_RETURN(
      input.plan, Plan::Make(graph, input.source.size, seed, iteration, limit));
  if (input.plan->source_needed() != input.source.size) {
    FM_ASSIGN_OR_RETURN(input.source,
                        PlanSource(*graph, manifest, seed, iteration,
                                   input.plan->source_needed()));
  }
  return input;
}

// Returns the period of an infinite combining source.
uint64_t RoundOf(const Source& source, const SourcePlan& plan) {
  const bool pairs = PropertiesOf(source).pairs_inputs;
  std::vector<uint64_t> rounds;
  for (const SourcePlan::Input& input : plan.inputs) {
    const uint64_t size = input.plan->size();
    // If the source of an input is infinite, the input need not repeat after
    // each round.
    const bool known = !pairs || input.source.size != kInfinite;
    rounds.push_back(size != kInfinite ? size
                     : known           ? input.plan->Round(input.source.round)
                                       : 0);
  }
  return plan.combination->Round(rounds);
}

}  // namespace

absl::StatusOr<SourcePlan> PlanSource(const AnalyzedGraph& graph,
                                      const Manifest& manifest, uint64_t seed,
                                      uint64_t iteration, uint64_t limit) {
  SourcePlan out;
  if (graph.cached != nullptr) {
    FM_ASSIGN_OR_RETURN(
        out.cached.emplace_back(),
        PlanInput(graph.cached, manifest, seed, /*iteration=*/0, kInfinite));
    out.size = out.cached[0].plan->size();
    out.round = out.cached[0].plan->Round(out.cached[0].source.round);
    return out;
  }
  const Source& source = graph.graph.source;
  const size_t count = graph.inputs.size();
  if (graph.source.needs_files && manifest.inputs.size() != count) {
    return DataLoss("the manifest is one of {} inputs, the source has {}",
                    manifest.inputs.size(), count);
  }
  if (count == 0) {
    const std::optional<uint64_t> size =
        FormatOf(source).Size(source.options());
    out.size = size ? *size : manifest.TotalRecords();
    return out;
  }
  const auto plan = [&](size_t i, uint64_t input_limit) {
    static const Manifest none;
    auto input = PlanInput(graph.inputs[i],
                           manifest.inputs.empty() ? none : manifest.inputs[i],
                           seed, iteration, input_limit);
    if (input.ok()) return input;
    return absl::StatusOr<SourcePlan::Input>(Annotate(
        input.status(), fmt::format("{} inputs[{}]", source.name(), i)));
  };
  if (graph.source.streamed) {  // their sizes are unknown
    for (size_t i = 0; i < count; ++i) {
      FM_RETURN_IF_ERROR(plan(i, kInfinite).status());
    }
    out.size = 1;
    return out;
  }
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < count; ++i) {
    FM_ASSIGN_OR_RETURN(out.inputs.emplace_back(), plan(i, kInfinite));
    sizes.push_back(out.inputs.back().plan->size());
  }
  auto combination = CombineInputs(source, sizes, limit);
  if (!combination.ok()) {
    return Annotate(combination.status(), std::string(source.name()));
  }
  out.combination = *std::move(combination);
  out.size = out.combination->size();
  for (size_t i = 0; i < count; ++i) {
    const uint64_t used = out.combination->Used(i);
    if (sizes[i] == kInfinite && used != kInfinite) {
      FM_ASSIGN_OR_RETURN(out.inputs[i], plan(i, used));
    }
    out.inputs[i].turns = out.combination->Turns(i);
  }
  if (out.size == kInfinite) out.round = RoundOf(source, out);
  return out;
}

absl::StatusOr<uint64_t> SourceSize(const AnalyzedGraph& graph,
                                    const Manifest& manifest) {
  FM_ASSIGN_OR_RETURN(const SourcePlan plan, PlanSource(graph, manifest, 0, 0));
  return plan.size;
}

}  // namespace feedmill
