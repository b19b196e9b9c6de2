#include "broker/job_planner.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/place_names.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/python_versions.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"
#include "core/definition/pipeline_text.h"
#include "core/io/manifest.h"
#include "core/operators/repeated_graph.h"
#include "core/operators/sequenced_graph.h"
#include "core/plan/plan.h"
#include "core/sources/framing.h"
#include "core/sources/origins.h"
#include "core/sources/source_plan.h"

namespace feedmill {
namespace {

// True if a run is one whole pass for each worker (parallel_epochs). Such a run
// can be planned only once there is a worker.
bool ReadsInPasses(const Graph& graph) {
  return graph.options.processing_mode == Options::ProcessingMode::kOff;
}

// Records of the first split while no cost is known. A split that is too small
// costs a round trip, one that is too large keeps the other workers idle.
constexpr uint64_t kArithmeticRecords = 4'096;  // nanoseconds to a microsecond
constexpr uint64_t kReadRecords = 64;           // read from a file
constexpr uint64_t kHeavyRecords = 4;           // decoded, or heavy calls

bool IsHeavy(const Expr& expr, const FunctionRegistry& registry) {
  const auto* call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr) return false;
  const auto* function = registry.Find(call->function);
  if (function != nullptr && function->heavy) return true;
  return std::any_of(
      call->arguments.begin(), call->arguments.end(),
      [&](const Expr& argument) { return IsHeavy(argument, registry); });
}

bool IsHeavy(const Step& step, const FunctionRegistry& registry) {
  bool heavy = TraitsOf(step).heavy;
  step.ReadFields([&](const FieldList& fields) {
    ForEachExpr(fields, [&](const Expr& expr) {
      heavy = heavy || IsHeavy(expr, registry);
    });
  });
  return heavy;
}

uint64_t FirstRecords(const AnalyzedGraph& analyzed,
                      const FunctionRegistry& registry) {
  const std::vector<Step>& steps = analyzed.graph.steps;
  const bool heavy =
      std::any_of(steps.begin(), steps.end(),
                  [&](const Step& step) { return IsHeavy(step, registry); });
  if (heavy) return kHeavyRecords;
  if (!analyzed.source.counted && !analyzed.needs_index) return 1;  // blocks
  uint64_t records =
      analyzed.source.needs_files ? kReadRecords : kArithmeticRecords;
  for (const auto& input : analyzed.inputs) {
    records = std::min(records, FirstRecords(*input, registry));
  }
  return records;
}

absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> Read(
    const Graph& parsed, const FunctionRegistry& registry) {
  FM_RETURN_IF_ERROR(CheckPlugins(parsed, registry, "the dispatcher"));
  return Analyze(parsed, registry);
}

absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> Read(
    const std::string& graph, const FunctionRegistry& registry) {
  FM_ASSIGN_OR_RETURN(const Graph parsed, ParseGraphJson(graph));
  return Read(parsed, registry);
}

bool HasInfinitePart(const Graph& graph) {
  return PropertiesOf(graph.source).infinite ||
         std::any_of(graph.steps.begin(), graph.steps.end(),
                     [](const Step& step) {
                       const auto* repeat = step.As<RepeatStep>();
                       return repeat != nullptr && !repeat->count.has_value();
                     });
}

absl::StatusOr<JobShape> ShapeOf(const FunctionRegistry& registry,
                                 const std::string& graph,
                                 const std::string& manifest_text,
                                 uint64_t seed, uint64_t iteration) {
  FM_ASSIGN_OR_RETURN(const Graph parsed, ParseGraphJson(graph));
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<const AnalyzedGraph> analyzed,
                      Read(parsed, registry));
  Manifest manifest;
  JobShape shape;
  if (analyzed->source.needs_files) {
    FM_ASSIGN_OR_RETURN(manifest, Manifest::Parse(manifest_text));
    shape.manifest_hash = manifest.Hash();
  }
  if (parsed.sequenced) manifest = SequencedManifest(std::move(manifest));
  shape.fingerprint = Fingerprint(parsed);
  FM_ASSIGN_OR_RETURN(const SourcePlan source,
                      PlanSource(*analyzed, manifest, seed, iteration));
  shape.source_size = source.size;
  shape.source_round = source.round;
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan,
                      Plan::Make(analyzed, shape.source_size, seed, iteration));
  shape.positions = plan->size();
  shape.first_split = FirstRecords(*analyzed, registry);
  shape.first_split =
      std::max<uint64_t>(1, shape.first_split / plan->batch_size());
  shape.in_passes = ReadsInPasses(analyzed->graph) && shape.positions > 0 &&
                    !HasInfinitePart(analyzed->graph);
  if (!shape.in_passes) return shape;
  // The passes follow each other, so each pass must be finite.
  const Graph repeated = RepeatedGraph(analyzed->graph);
  FM_ASSIGN_OR_RETURN(const auto whole, Analyze(repeated, registry));
  FM_RETURN_IF_ERROR(
      Plan::Make(whole, shape.source_size, seed, iteration).status());
  shape.fingerprint = Fingerprint(repeated);
  return shape;
}

PositionName NameOf(const FunctionRegistry& registry, const std::string& graph,
                    const std::string& manifest_text, uint64_t seed,
                    uint64_t iteration, uint64_t position) {
  PositionName name{fmt::format("position {}", position)};
  const auto analyzed = Read(graph, registry);
  if (!analyzed.ok()) return name;
  // A position of streams is a whole pass: one bad element is no reason to skip
  // it.
  name.skips = (*analyzed)->skip_before && !(*analyzed)->source.streamed;
  // If several inputs are combined, only workers know the input of an element.
  if (!(*analyzed)->inputs.empty()) return name;
  const bool needs_files = (*analyzed)->source.needs_files;
  absl::StatusOr<Manifest> manifest = Manifest();
  if (needs_files) manifest = Manifest::Parse(manifest_text);
  if (!manifest.ok()) return name;
  absl::StatusOr<SourcePlan> source =
      PlanSource(**analyzed, *manifest, seed, iteration);
  if (!source.ok()) return name;
  const auto plan = Plan::Make(*analyzed, source->size, seed, iteration);
  if (!plan.ok() || position >= (*plan)->size()) return name;
  const bool counted = (*analyzed)->source.counted || !needs_files;
  const auto files = std::make_shared<const Manifest>(*std::move(manifest));
  OriginFinder(*plan, files, *std::move(source))
      .Find((*plan)->Record(position, 0), 0, name.records);
  const RecordOrigin& first = name.records.front();
  const uint64_t records = (*plan)->RecordsAt(position);
  name.text = fmt::format(
      "{}{} {} of {}",
      records == 1
          ? ""
          : fmt::format("one of {} records, the first of which is ", records),
      counted ? "record" : "block",
      counted ? first.record : first.offset / kBlockBytes,
      first.file.empty() ? "the source" : fmt::format("'{}'", first.file));
  return name;
}

}  // namespace

Planner MakePlanner(const std::shared_ptr<const FunctionRegistry>& registry) {
  Planner planner;
  planner.fingerprint =
      [](const std::string& graph) -> absl::StatusOr<std::string> {
    FM_ASSIGN_OR_RETURN(const Graph parsed, ParseGraphJson(graph));
    return Fingerprint(parsed);
  };
  planner.needs_manifest =
      [registry](const std::string& graph) -> absl::StatusOr<bool> {
    FM_ASSIGN_OR_RETURN(const auto analyzed, Read(graph, *registry));
    // A worker also loads the Python functions, so that a module that is
    // missing is found before a split is leased.
    return analyzed->source.needs_files || ReadsInPasses(analyzed->graph) ||
           WorkerPythonNeeds(*analyzed) != nullptr;
  };
  planner.python_needs = [registry](const std::string& graph) {
    const auto analyzed = Read(graph, *registry);
    return analyzed.ok() ? WorkerPythonNeeds(**analyzed) : nullptr;
  };
  planner.run_graph = [](const std::string& graph) {
    const auto parsed = ParseGraphJson(graph);
    return parsed.ok() ? CanonicalText(RepeatedGraph(*parsed)) : graph;
  };
  planner.sequenced_graph = [registry](const std::string& graph) {
    const auto analyzed = Read(graph, *registry);
    if (!analyzed.ok() || !IsWorthSequencing(**analyzed)) return std::string();
    std::string text = CanonicalText(SequencedGraph((*analyzed)->graph));
    return Read(text, *registry).ok() ? text : std::string();
  };
  planner.numbered = [registry](const std::string& graph) {
    const auto analyzed = Read(graph, *registry);
    return !analyzed.ok() || (*analyzed)->numbered;
  };
  planner.name_places = [registry](const std::string& graph) {
    const auto analyzed = Read(graph, *registry);
    return analyzed.ok() ? PlaceNames(**analyzed) : std::vector<std::string>();
  };
  planner.name_position = [registry](const std::string& graph,
                                     const std::string& manifest, uint64_t seed,
                                     uint64_t iteration, uint64_t position) {
    return NameOf(*registry, graph, manifest, seed, iteration, position);
  };
  planner.shape = [registry](const std::string& graph,
                             const std::string& manifest, uint64_t seed,
                             uint64_t iteration) {
    return ShapeOf(*registry, graph, manifest, seed, iteration);
  };
  return planner;
}

}  // namespace feedmill
