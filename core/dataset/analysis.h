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
#include "feedmill/element.h"

namespace feedmill {

// The placement of a step (docs/steps.md has the rules).
enum class Placement { kPlan, kWorker, kClient };

struct AnalyzedGraph;

// Properties of a source that follow from the graph, without its files.
struct SourceTraits {
  ElementSpec spec;     // of the elements that the source makes
  ElementSpec written;  // same, including components that no step needs
  std::vector<bool>
      live{};               // by component of `written`: it is made; empty: all
  bool counted = true;      // positions are records; else blocks or files
  bool needs_files = true;  // a manifest is needed (false for range)
  // True for a combining source with an uncounted input: a position is a pass
  // over all inputs, which yields elements one after another.
  bool streamed = false;
  // The table of an image_table.
  std::shared_ptr<const AnalyzedGraph> table{};
};

struct AnalyzedStep {
  Placement placement = Placement::kPlan;
  std::shared_ptr<const ElementSpec> output;  // spec of its output
  // Same, including components that no later step needs (column_pruning.h).
  std::shared_ptr<const ElementSpec> written;
  // Number of batch steps before this one. As many leading dims of a component
  // are batches; steps on single records (decode_image …) act below them.
  size_t batches_before = 0;
  // For a flat_map: the output of its expressions, before it is split. If it is
  // the client stage's first step, workers run its expressions.
  std::shared_ptr<const ElementSpec> mapped{};
  // For a lookup: its table.
  std::shared_ptr<const AnalyzedGraph> table{};
};

// A checked graph: every name, type and shape fits, every step has a placement.
// A graph that cannot run was rejected with advice. Immutable once made.
struct AnalyzedGraph {
  Graph graph;
  SourceTraits source;
  std::vector<AnalyzedStep> steps;  // one per graph.steps
  // The output. For an input, only the components of its last step that the
  // whole pipeline needs.
  std::shared_ptr<const ElementSpec> output;
  // The inputs of a combining source, in order; empty for a source of records.
  // Unless source.streamed, the plan of an input alone counts its elements, and
  // all its steps belong to the plan or the worker.
  std::vector<std::shared_ptr<const AnalyzedGraph>> inputs;
  bool random = false;  // uses random numbers (random_use.h): passes differ
  // The number of steps[0] among all steps as written; steps of inputs come
  // before the steps of the whole. It keys random choices.
  size_t first_step = 0;
  // True if records that are expensive to count precede a global shuffle, so
  // that an index has to count them; then source.counted is true.
  bool needs_index = false;
  // Number of steps up to the last cache, including it; 0 without a cache. For
  // the later steps, records are the positions of `cached`, the pipeline of the
  // steps before that cache. (`inputs` belong to that pipeline, too.)
  size_t cached_steps = 0;
  std::shared_ptr<const AnalyzedGraph> cached{};
  // An element of the plan is a batch (a batch step has placement kPlan).
  bool plan_batches = false;
  // Every position makes one element, and no step runs on the client. So
  // position n makes element n of the sequence.
  bool numbered = false;
  // Number of elements of the output, as the source promises
  // (SourceProperties::elements); nullopt: it promises none, or only reading
  // can tell.
  std::optional<uint64_t> elements{};
  // The first client-stage step, or steps.size().
  size_t client_begin = 0;
  // Index of the on_error step that skips: failed elements of the source and of
  // earlier steps are skipped.
  std::optional<size_t> skip_before;
  // Graph::part, and whether an on_error of a pipeline around that part skips
  // elements that fail in it.
  std::vector<size_t> part{};
  bool covered = false;

  const CacheStep& cache() const {
    return graph.steps[cached_steps - 1].Get<CacheStep>();
  }

  // Returns the input of step `step`; for steps.size(), the output of the last
  // one.
  const ElementSpec& InputOf(size_t step) const {
    return step == 0 ? source.spec : *steps[step - 1].output;
  }

  // Describes the placement for `read --explain`: a line for the source and for
  // each step with its placement and output.
  std::string Explain() const;
};

// Checks `graph` with the functions of `registry`. If it stands for an input
// (Graph::part), returns that input as the whole needs it. InvalidArgument
// names the
// step ("steps[2] map: …") and what to write instead.
absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> Analyze(
    const Graph& graph, const FunctionRegistry& registry);

// Returns a short form of the source's canonical text: "range(0, 10)",
// "images(2 names)".
std::string DescribeSource(const Source& source);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_ANALYSIS_H_
