#include "core/pipeline/local_sequence.h"

#include <random>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/python_functions.h"
#include "core/dataset/random_use.h"
#include "core/io/manifest.h"
#include "core/pipeline/input_stream.h"
#include "core/pipeline/stream_threads.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "core/plan/plan_id.h"
#include "core/process/process_quota.h"
#include "core/process/thread_limit.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"

namespace feedmill {
namespace {

uint64_t DrawSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// Returns the seed of the reading. It is drawn only if no other rank has to
// know it.
absl::StatusOr<uint64_t> SeedOf(const Graph& graph,
                                const FunctionRegistry& registry,
                                const LocalSequenceOptions& options) {
  if (options.resume) return options.resume->seed;
  if (graph.options.seed) return *graph.options.seed;
  if (options.share.whole()) return DrawSeed();
  if (!NeedsSeed(graph, registry)) return 0;
  return InvalidArgument(
      "rank {} of {}: the dataset uses random numbers and has no seed; each "
      "rank would draw another one, and read another order. Give all ranks one "
      "seed: `options: {{seed: 7}}` in YAML, `.with_options(seed=7)` in "
      "Python, "
      "`.WithSeed(7)` in C++",
      options.share.rank, options.share.ranks);
}

}  // namespace

absl::StatusOr<LocalSequence> OpenLocalSequence(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
    LocalSequenceOptions options) {
  if (options.threads < 0) {
    return InvalidArgument(
        "{} threads: the number must not be negative; 0 uses all CPUs",
        options.threads);
  }
  FM_ASSIGN_OR_RETURN(options.element_bytes_max,
                      ElementBytesMax(options.element_bytes_max));
  const int threads = options.threads > 0 ? options.threads : AvailableCpus();
  FM_RETURN_IF_ERROR(CheckThreads(static_cast<size_t>(threads),
                                  "give the reader fewer (`threads`)"));
  options.memory_bytes = ElementMemory(options.memory_bytes, threads);
  FM_ASSIGN_OR_RETURN(auto analyzed, Analyze(graph, *registry));
  FM_ASSIGN_OR_RETURN(const uint64_t seed, SeedOf(graph, *registry, options));
  FM_ASSIGN_OR_RETURN(
      const auto loaded,
      LoadPython(*analyzed, *registry, "the reader", PythonPart::kAll));
  FM_ASSIGN_OR_RETURN(Manifest resolved, ResolveManifest(*analyzed));
  const auto manifest = std::make_shared<const Manifest>(std::move(resolved));
  const std::optional<LocalResume>& resume = options.resume;
  const uint64_t iteration = resume ? resume->iteration : options.iteration;
  FM_ASSIGN_OR_RETURN(const SourcePlan source,
                      PlanSource(*analyzed, *manifest, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto plan,
                      Plan::Make(analyzed, source.size, seed, iteration));
  auto executor = std::make_unique<Executor>(threads);
  std::shared_ptr<StreamThreads> streams;
  if (HasStreams(*analyzed)) {
    options.memory_bytes /= 2;
    streams = std::make_shared<StreamThreads>(*executor, options.memory_bytes);
  }
  FM_ASSIGN_OR_RETURN(auto stage, WorkerStage::Make(plan, manifest, registry,
                                                    std::move(streams)));
  if (resume && plan->size() < resume->place.cursor.p) {
    return InvalidArgument("the token stands beyond the end of the sequence");
  }
  if (resume && resume->place.state) stage->Restore(*resume->place.state);
  SequenceReader::Options sequence_options;
  sequence_options.rules = {options.share, options.skips, analyzed->numbered};
  if (resume) sequence_options.resume = resume->place;
  sequence_options.elements = analyzed->elements;
  sequence_options.source_round = source.round;
  sequence_options.plan_id = PlanIdOf(
      Fingerprint(graph), analyzed->source.needs_files ? manifest->Hash() : "",
      seed, iteration);
  sequence_options.on_skipped = options.on_skipped;
  LocalSequence made;
  FM_ASSIGN_OR_RETURN(
      made.sequence,
      SequenceReader::Make(plan, registry, std::move(sequence_options)));
  made.maker = std::make_unique<PieceMaker>(
      stage->ForShare(options.share), resume ? resume->place.cursor : Cursor{},
      plan->size(),
      PieceMaker::Options{.executor = std::move(executor),
                          .memory_bytes = options.memory_bytes,
                          .piece_bytes = options.piece_bytes,
                          .element_bytes_max = options.element_bytes_max,
                          .profile = options.profile});
  made.maker->SkipTo(made.sequence->needed());
  return made;
}

}  // namespace feedmill
