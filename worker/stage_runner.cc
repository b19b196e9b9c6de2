#include "worker/stage_runner.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/place_names.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/python_functions.h"
#include "core/definition/pipeline_text.h"
#include "core/io/announced_wait.h"
#include "core/io/manifest.h"
#include "core/io/read_stop.h"
#include "core/net/clock.h"
#include "core/operators/sequenced_graph.h"
#include "core/pipeline/bound_files.h"
#include "core/pipeline/input_stream.h"
#include "core/pipeline/read_profile.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"
#include "core/wire/packing.h"
#include "worker/busy_time.h"

namespace feedmill {

// A stage, with scratch memory for each thread that runs it. A thread uses only
// its own, so no lock is needed.
struct StageRunner::CompiledStage {
  std::shared_ptr<const WorkerStage> stage;
  std::vector<std::unique_ptr<WorkerStage::Scratch>> scratches;
};

namespace {

// Returns PlanTraits::family.
std::string FamilyOf(const PlanDefinition& definition, Graph graph,
                     const AnalyzedGraph& analyzed) {
  if (graph.part.empty() && !HasStreams(analyzed)) return "";
  graph = PipelineOf(graph);
  graph.part.clear();
  graph.options = Options{};  // an input's definition has none
  return fmt::format("{} {}", Fingerprint(graph), definition.seed);
}

// Sets the traits that follow from the graph, and `defined.places`.
absl::StatusOr<std::shared_ptr<const WorkerStage>> Compile(
    const PlanDefinition& definition,
    const std::shared_ptr<const FunctionRegistry>& registry,
    std::shared_ptr<StreamThreads> streams,
    const StageRunner::Services& services, Defined& defined) {
  FM_ASSIGN_OR_RETURN(const Graph graph, ParseGraphJson(definition.graph));
  FM_RETURN_IF_ERROR(CheckPlugins(graph, *registry, "a worker"));
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<const AnalyzedGraph> analyzed,
                      Analyze(graph, *registry));
  FM_ASSIGN_OR_RETURN(
      const auto loaded,
      LoadPython(*analyzed, *registry, "the worker", PythonPart::kWorker));
  defined.traits.alike = !analyzed->numbered;
  defined.traits.sequenced = graph.sequenced;
  defined.traits.family = FamilyOf(definition, graph, *analyzed);
  defined.places = PlaceNames(*analyzed);
  auto manifest = std::make_shared<Manifest>();
  if (!definition.manifest.empty()) {
    FM_ASSIGN_OR_RETURN(*manifest, Manifest::Parse(definition.manifest));
  }
  if (graph.sequenced) *manifest = SequencedManifest(std::move(*manifest));
  FM_ASSIGN_OR_RETURN(const uint64_t source_size,
                      SourceSize(*analyzed, *manifest));
  FM_ASSIGN_OR_RETURN(
      const std::shared_ptr<const Plan> plan,
      Plan::Make(analyzed, source_size, definition.seed, definition.iteration));
  return WorkerStage::Make(plan, std::move(manifest), registry,
                           std::move(streams), services(graph));
}

using Packed = std::shared_ptr<const PackedParts>;

// Runs work and converts exceptions, e.g. out of memory, to errors of the
// request, so that they do not end the worker.
template <class F>
auto OrStatus(const F& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& error) {
    return StatusOf(error);
  }
}

// Converts a thread's measurements to the form of frames.
StepCosts CostsOf(const ReadProfile::Lane& lane) {
  const auto nanoseconds = [](double seconds) {
    return static_cast<uint64_t>(seconds * 1e9);
  };
  std::vector<StepCost> costs;
  for (size_t place = 0; place < lane.costs().size(); ++place) {
    const ReadProfile::Cost& cost = lane.costs()[place];
    const std::optional<uint32_t> named = FramePlaceOf(place);
    if (!named || (cost.wall_s <= 0 && cost.rows_in == 0)) continue;
    costs.push_back({*named, nanoseconds(cost.wall_s), nanoseconds(cost.cpu_s),
                     cost.rows_in, cost.rows_out, cost.bytes_out});
  }
  return std::make_shared<const std::vector<StepCost>>(std::move(costs));
}

absl::StatusOr<std::string> FindFiles(
    const std::string& text,
    const std::shared_ptr<const FunctionRegistry>& registry) {
  FM_ASSIGN_OR_RETURN(const Graph graph, ParseGraphJson(text));
  FM_RETURN_IF_ERROR(CheckPlugins(graph, *registry, "a worker"));
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<const AnalyzedGraph> analyzed,
                      Analyze(graph, *registry));
  FM_ASSIGN_OR_RETURN(
      const auto loaded,
      LoadPython(*analyzed, *registry, "the worker", PythonPart::kWorker));
  FM_ASSIGN_OR_RETURN(const Manifest manifest, ResolveManifest(*analyzed));
  // Errors in files that expressions name are reported now.
  FM_RETURN_IF_ERROR(BindFiles(*analyzed, &manifest, registry).status());
  return manifest.Serialize();
}

}  // namespace

StageRunner::StageRunner(int threads,
                         std::shared_ptr<const FunctionRegistry> registry,
                         std::function<void(std::function<void()>)> post,
                         Results results, Services services, Limits limits)
    : registry_(std::move(registry)),
      post_(std::move(post)),
      results_(std::move(results)),
      services_(std::move(services)),
      limits_(limits),
      streams_(std::make_shared<StreamThreads>(executor_, limits.stream_bytes)),
      executor_(threads) {}

StageRunner::~StageRunner() {
  for (const auto& [task, stop] : stops_) *stop = true;
  for (const auto& [fingerprint, stop] : resolving_) *stop = true;
}

void StageRunner::Define(PlanDefinition definition) {
  auto compiled = std::make_shared<CompiledStage>();
  // One more for MakeAtOnce, then one for each thread of `beside_`.
  compiled->scratches.resize(static_cast<size_t>(threads()) + 1 +
                             kTasksBesideMax);
  stages_[definition.plan] = compiled;
  // Shared, because a definition may hold a large manifest.
  auto shared = std::make_shared<const PlanDefinition>(std::move(definition));
  Submit([this, compiled, shared](int) {
    Defined defined{shared->plan, absl::OkStatus()};
    auto stage = OrStatus([&] {
      return Compile(*shared, registry_, streams_, services_, defined);
    });
    defined.status = stage.status();
    if (stage.ok()) {
      compiled->stage = *std::move(stage);
      defined.traits.positions_ahead = compiled->stage->PositionsAhead();
    }
    post_([this, defined = std::move(defined)] {
      Refill();
      results_.defined(defined);
    });
  });
}

// Destroying a stage may write megabytes (a cache on disk) and free gigabytes,
// so it is done on another thread.
void StageRunner::Forget(const PlanId& plan) {
  auto found = stages_.extract(plan);
  if (found.empty()) return;
  auto last = std::make_shared<std::shared_ptr<CompiledStage>>(
      std::move(found.mapped()));
  Submit([this, last](int) {
    last->reset();
    post_([this] { Refill(); });
  });
}

// Ending a pass over inputs may take as long as a message to a service.
void StageRunner::Rest(const PlanId& plan) {
  const auto found = stages_.find(plan);
  if (found == stages_.end()) return;
  Submit([this, compiled = found->second](int) {
    if (compiled->stage != nullptr) compiled->stage->Rest();
    post_([this] { Refill(); });
  });
}

void StageRunner::Compute(ComputeRequest request,
                          std::shared_ptr<BlockSource> blocks,
                          LinkCompression codec) {
  const auto found = stages_.find(request.plan);
  if (found == stages_.end()) {
    post_([this, task = request.task, plan = request.plan] {
      results_.computed({task, plan,
                         Internal("plan {} is not defined", plan.value()),
                         TaskCost{}});
    });
    return;
  }
  const bool at_once = request.at_once;
  const bool beside = request.beside;
  auto stop = std::make_shared<std::atomic<bool>>(false);
  stops_.emplace(request.task, stop);
  Work work = [this, compiled = found->second, request = std::move(request),
               blocks = std::move(blocks), codec,
               stop = std::move(stop)](int thread) {
    const ReadStop stops(*stop);
    const BusyTime busy;
    const absl::Duration waited = AnnouncedWait::Total();
    const absl::Time begun = request.trace ? SteadyNow() : absl::InfinitePast();
    Computed computed{request.task, request.plan,
                      Internal("the plan was not compiled"), TaskCost{}, codec};
    if (compiled->stage != nullptr) {
      ReadProfile::Lane lane;
      std::optional<ReadProfile::Use> measured;
      const bool measures = request.profile || request.measure;
      if (measures) measured.emplace(&lane);
      computed.piece =
          Run(*compiled, request, blocks, thread, computed.cost.beside);
      measured.reset();
      if (measures) computed.costs = CostsOf(lane);
    }
    if (codec != LinkCompression::kNone && !request.by_rank &&
        computed.piece.ok() && computed.piece->chunk.rows > 0) {
      const absl::Time made = SteadyNow();
      // If there is no memory for packing, the piece is sent unpacked.
      computed.packed = OrStatus([&]() -> absl::StatusOr<Packed> {
                          return PackParts(*computed.piece, codec);
                        }).value_or(nullptr);
      computed.packing = SteadyNow() - made;
    }
    computed.cost.busy = request.beside ? busy.Cpu() : busy.Elapsed();
    computed.cost.announced_wait = AnnouncedWait::Total() - waited;
    if (request.trace) {
      computed.times =
          TaskTimes{begun, SteadyNow(), static_cast<uint32_t>(thread)};
    }
    post_([this, computed = std::move(computed)]() mutable {
      stops_.erase(computed.task);
      Refill();
      results_.computed(std::move(computed));
    });
  };
  if (beside) return SubmitBeside(std::move(work));
  if (!at_once) return Submit(std::move(work));
  const std::lock_guard lock(at_once_mu_);
  at_once_.push_back(std::move(work));
}

void StageRunner::StopTask(TaskId task) {
  const auto found = stops_.find(task);
  if (found != stops_.end()) *found->second = true;
}

absl::StatusOr<Piece> StageRunner::Run(
    CompiledStage& compiled, const ComputeRequest& request,
    const std::shared_ptr<BlockSource>& blocks, int thread,
    bool& beside) const {
  const ByteBudget budget(limits_.element_bytes_max);
  auto& scratch = compiled.scratches[static_cast<size_t>(thread)];
  auto piece = OrStatus([&]() -> absl::StatusOr<Piece> {
    FM_RETURN_IF_ERROR(ReadStop::Check("the elements of a task"));
    if (scratch == nullptr) scratch = compiled.stage->NewScratch();
    scratch->piece_time = WorkerStage::kPieceTime;
    if (!request.by_rank) scratch->blocks = blocks;
    scratch->beside = request.beside;
    const auto stage = compiled.stage->ForShare(request.share);
    if (request.state != nullptr) stage->Restore(*request.state);
    for (const PositionRange& soon : request.soon) {
      stage->Announce(soon.begin, soon.end, *scratch);
    }
    auto made =
        stage->Run(request.begin, request.end, request.bytes_target, *scratch);
    scratch->blocks.reset();
    beside = scratch->wants_beside;
    if (request.by_rank && made.ok()) {
      *made = made->ByRank(request.share.ranks, blocks);
    }
    return made;
  });
  // After an exception the state of the blocks is unknown.
  if (scratch != nullptr && scratch->blocks != nullptr) scratch = nullptr;
  return piece;
}

void StageRunner::MakeAtOnce() {
  for (;;) {
    Work work;
    {
      const std::lock_guard lock(at_once_mu_);
      making_ = !at_once_.empty();
      if (!making_) return;
      work = std::move(at_once_.front());
      at_once_.pop_front();
    }
    work(threads());
  }
}

void StageRunner::SubmitQueued() {
  const std::lock_guard lock(at_once_mu_);
  if (!making_) return;
  for (; !at_once_.empty(); at_once_.pop_front()) {
    Submit(std::move(at_once_.front()));
  }
}

void StageRunner::Resolve(ManifestRequest request) {
  auto stop = std::make_shared<std::atomic<bool>>(false);
  resolving_.insert_or_assign(request.graph_fingerprint, stop);
  Submit([this, request = std::move(request), stop = std::move(stop)](int) {
    const ReadStop stops(*stop);
    auto found = OrStatus([&] { return FindFiles(request.graph, registry_); });
    ManifestResult result{request.graph_fingerprint, found.status(), ""};
    if (found.ok()) result.manifest = *std::move(found);
    post_([this, result = std::move(result)] {
      resolving_.erase(result.graph_fingerprint);
      Refill();
      results_.resolved(result);
    });
  });
}

void StageRunner::StopResolving(const std::string& graph_fingerprint) {
  const auto found = resolving_.find(graph_fingerprint);
  if (found != resolving_.end()) *found->second = true;
}

void StageRunner::Submit(Work work) {
  if (waiting_.empty() && executor_.Submit(work)) return;
  waiting_.push_back(std::move(work));
}

// Its queue has room for kTasksBesideMax tasks.
void StageRunner::SubmitBeside(Work work) {
  if (!beside_) beside_.emplace(static_cast<int>(kTasksBesideMax));
  const int first = threads() + 1;
  beside_->Submit(
      [work = std::move(work), first](int thread) { work(first + thread); });
}

void StageRunner::Refill() {
  while (!waiting_.empty() && executor_.Submit(waiting_.front())) {
    waiting_.pop_front();
  }
}

}  // namespace feedmill
