#ifndef FEEDMILL_CORE_DATASET_ANALYSIS_H_
#define FEEDMILL_CORE_DATASET_ANALYSIS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// Where a step runs (docs/steps.md has the rules).
enum class Home { kPlan, kWorker, kClient };

// What a source is before its files are seen.
struct SourceTraits {
  ElementSpec spec;          // of what is made of its records
  ElementSpec written;       // with the components that nothing needs
  std::vector<bool> live{};  // of those written: which are made; empty: all
  bool counted = true;       // positions are records; else blocks or files
  bool needs_files = true;   // a manifest is needed (false for range)
  // Made of inputs of which one is not counted: a position is a pass over all
  // of them, whose elements come one after the other.
  bool streamed = false;
};

struct AnalyzedStep {
  Home home = Home::kPlan;
  std::shared_ptr<const ElementSpec> output;  // what leaves the step
  // With what it would make, too, if anything needed it (live_components.h).
  std::shared_ptr<const ElementSpec> written;
  // Batch steps before this one: so many leading dims of a component belong to
  // batches, and steps on single records (decode_image …) act below them.
  size_t batches_before = 0;
  // Of a flat_map: what its expressions make, before it is taken apart. The
  // workers do that much of it if it is the client stage's first step.
  std::shared_ptr<const ElementSpec> mapped{};
};

// A graph that was checked: every name, type and shape fits, every step has a
// home, and what cannot run is refused with the way out. Immutable once made.
struct AnalyzedGraph {
  Graph graph;
  SourceTraits source;
  std::vector<AnalyzedStep> steps;  // one per graph.steps
  // What leaves it: of an input, no more of what its last step makes than the
  // whole needs.
  std::shared_ptr<const ElementSpec> output;
  // What a source is made of, in order; none if it reads records of its own.
  // Unless source.streamed, an input's elements are counted by its plan alone,
  // and its steps are all of the plan or of the worker.
  std::vector<std::shared_ptr<const AnalyzedGraph>> inputs;
  bool draws = false;  // something (draws.h), so that passes differ
  // The number of steps[0] among all steps as written: those of inputs stand
  // before those of the whole. It keys random choices.
  size_t first_step = 0;
  // Records that are not counted cheaply stand before a global shuffle, which
  // needs an index of them; source.counted is true then.
  bool needs_index = false;
  // The number of steps up to the last cache, which is one of them; 0 without
  // one. What stands after them has the positions of `cached`, the pipeline of
  // the steps before that cache, for records (`inputs` are that one's, too).
  size_t cached_steps = 0;
  std::shared_ptr<const AnalyzedGraph> cached{};
  // The element of the plan is a batch (a batch step has home kPlan).
  bool plan_batches = false;
  // Every position makes one element, and no step runs at the client: element
  // n of the sequence is that of position n, known without running anything.
  bool numbered = false;
  // The first client-stage step, or steps.size().
  size_t client_begin = 0;
  // The on_error step that skips: what fails in the source or in a step before
  // it is left out.
  std::optional<size_t> skip_before;

  const CacheStep& cache() const {
    return graph.steps[cached_steps - 1].Get<CacheStep>();
  }

  // What enters step `step`; what the last one makes for steps.size().
  const ElementSpec& InputOf(size_t step) const {
    return step == 0 ? source.spec : *steps[step - 1].output;
  }

  // The cut, as `read --explain` prints it: a line for the source and for each
  // step with its home and what leaves it.
  std::string Explain() const;
};

// Checks `graph` with the functions of `registry`. InvalidArgument names the
// step ("steps[2] map: …") and what to write instead.
absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> Analyze(
    const Graph& graph, const FunctionRegistry& registry);

// The source as the canonical text has it, short: "range(0, 10)",
// "images(2 names)".
std::string DescribeSource(const Source& source);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_ANALYSIS_H_
