#ifndef FEEDMILL_CORE_DATASET_ANALYSIS_H_
#define FEEDMILL_CORE_DATASET_ANALYSIS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/element_spec.h"
#include "core/dataset/graph.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

// Where a step runs (design.md §1, listed in docs/steps.md).
enum class Home { kPlan, kWorker, kClient };

// What a source is before its files are seen.
struct SourceTraits {
  ElementSpec spec;
  bool counted = true;      // positions are records; else blocks (text)
  bool needs_files = true;  // a manifest is needed (false for range)
};

struct AnalyzedStep {
  Home home = Home::kPlan;
  std::shared_ptr<const ElementSpec> output;  // what leaves the step
  // For random steps: how many enclosing repeats stand *before* … see
  // Plan::EpochAt; the index of the step as written is its place in the list.
};

// A graph that was checked: every name, type and shape fits, every step has a
// home, and what cannot run is refused with the way out.
struct AnalyzedGraph {
  Graph graph;
  SourceTraits source;
  std::vector<AnalyzedStep> steps;  // one per graph.steps
  std::shared_ptr<const ElementSpec> output;
  // Text before a global shuffle is read by line number, which needs counts.
  bool needs_index = false;
  // The element of the plan is a batch (a batch step has home kPlan).
  bool plan_batches = false;
  // The first client-stage step, or steps.size().
  size_t client_begin = 0;

  // The cut, as `read --explain` prints it.
  std::string Explain() const;
};

// Checks `graph` with the functions of `registry`. InvalidArgument names the
// step ("steps[2] map: …") and what to write instead.
absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> Analyze(
    const Graph& graph, const FunctionRegistry& registry);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_ANALYSIS_H_
