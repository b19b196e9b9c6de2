#include "core/dataset/skipping.h"

#include <vector>

#include "core/base/status.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

void Find(const Graph& graph, std::vector<const OnErrorStep*>& found) {
  if (const auto* inputs = SourceInputs(graph.source)) {
    for (const Graph& input : *inputs) Find(input, found);
  }
  for (const Step& step : graph.steps) {
    if (Skips(step)) found.push_back(step.As<OnErrorStep>());
  }
}

}  // namespace

bool Skips(const Step& step) {
  const auto* on_error = step.As<OnErrorStep>();
  return on_error != nullptr && on_error->policy == OnErrorStep::Policy::kSkip;
}

std::optional<OnErrorStep> SkippingOf(const Graph& graph) {
  std::vector<const OnErrorStep*> found;
  Find(graph, found);
  if (found.empty()) return std::nullopt;
  OnErrorStep all{OnErrorStep::Policy::kSkip, std::nullopt, ""};
  for (const OnErrorStep* const one : found) {
    if (one->cap) all.cap = one->cap;
    if (!one->quarantine.empty()) all.quarantine = one->quarantine;
  }
  return all;
}

absl::Status CheckSkipping(const Graph& graph) {
  std::vector<const OnErrorStep*> found;
  Find(graph, found);
  size_t caps = 0;
  size_t quarantines = 0;
  for (const OnErrorStep* const one : found) {
    caps += one->cap ? 1 : 0;
    quarantines += one->quarantine.empty() ? 0 : 1;
  }
  if (caps <= 1 && quarantines <= 1) return absl::OkStatus();
  return InvalidArgument(
      "on_error: one {} counts for the whole pipeline, its inputs included; "
      "write it once",
      caps > 1 ? "cap" : "quarantine");
}

}  // namespace feedmill
