#include "core/pipeline/stage_program.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {

size_t StaticBytes(const ComponentSpec& component) {
  return static_cast<size_t>(NumItems(component.shape)) *
         ItemSize(component.dtype);
}

bool InPlace(const ComponentSpec& component) {
  return component.dtype != DType::kBytes && component.IsStatic();
}

namespace {

// More bytes than any element has.
constexpr size_t kMost = size_t{1} << 60;

// Bytes of cheap rows that are made ahead: a fraction of a cache that threads
// share.
constexpr size_t kCheapAheadBytes = size_t{4} << 20;

// Largest piece of positions that are read in another order than the
// source's. The larger the piece, the more of its records are adjacent.
constexpr size_t kTogetherBytes = size_t{2} << 20;

// Returns the smallest number of bytes of an element of this spec.
uint64_t LeastBytes(const ElementSpec& spec) {
  uint64_t bytes = 0;
  for (const ComponentSpec& component : spec.components) {
    if (!component.IsStatic()) continue;
    // A byte string has at least offsets.
    bytes += static_cast<uint64_t>(NumItems(component.shape)) *
             std::max(ItemSize(component.dtype), sizeof(uint8_t));
  }
  return std::max<uint64_t>(bytes, 1);
}

// The steps that run in the stage, and the elements that they make.
struct StageSteps {
  std::vector<size_t> on_records;
  std::vector<size_t> on_batches;                  // after the batch
  std::optional<size_t> batch;                     // the plan's batch, if any
  std::shared_ptr<const ElementSpec> record_spec;  // before the batch
  std::shared_ptr<const ElementSpec> output;
};

StageSteps FindSteps(const AnalyzedGraph& graph) {
  StageSteps found;
  const size_t begin = graph.cached_steps;
  found.output = std::make_shared<const ElementSpec>(graph.InputOf(begin));
  found.record_spec = found.output;
  const auto makes = [&](std::shared_ptr<const ElementSpec> spec) {
    found.output = std::move(spec);
    if (!found.batch) found.record_spec = found.output;
  };
  for (size_t s = begin; s < graph.client_begin; ++s) {
    const Step& step = graph.graph.steps[s];
    // The plan knows the numbers of enumerate; the worker writes them.
    if (graph.steps[s].placement == Placement::kWorker ||
        step.Is<EnumerateStep>()) {
      (found.batch ? found.on_batches : found.on_records).push_back(s);
    } else if (step.Is<BatchStep>()) {
      if (!found.batch) found.batch = s;
    }
    makes(graph.steps[s].output);
  }
  // The map of a flat_map runs here; the client splits its output.
  const size_t next = graph.client_begin;
  if (next < graph.steps.size() && graph.steps[next].mapped != nullptr) {
    (found.batch ? found.on_batches : found.on_records).push_back(next);
    makes(graph.steps[next].mapped);
  }
  return found;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const StageProgram>> StageProgram::Compile(
    std::shared_ptr<const Plan> plan, std::shared_ptr<const Manifest> manifest,
    const StageContext& context) {
  auto program = std::make_shared<StageProgram>();
  program->plan = plan;
  const AnalyzedGraph& graph = plan->graph();
  FM_ASSIGN_OR_RETURN(program->source,
                      StageInput::Make(plan, manifest, context));
  const auto files = manifest == nullptr ? std::make_shared<const Manifest>()
                                         : std::move(manifest);
  const size_t begin = graph.cached_steps;
  program->source_place =
      begin == 0 ? ReadProfile::kSource
                 : ReadProfile::kSteps + graph.first_step + begin - 1;
  const StageSteps steps = FindSteps(graph);
  program->record_spec = steps.record_spec;
  program->output = steps.output;
  if (!steps.on_records.empty()) program->last_step = steps.on_records.back();
  if (steps.batch) program->last_step = steps.batch;
  if (!steps.on_batches.empty()) program->last_step = steps.on_batches.back();
  const bool skips = graph.skip_before || context.covered;
  FM_ASSIGN_OR_RETURN(
      program->records,
      BlockProgram::Make(plan, context.registry, steps.on_records,
                         graph.InputOf(begin), skips));
  program->covered = context.covered;
  if (steps.batch) {
    FM_RETURN_IF_ERROR(program->CompileBatches(*steps.batch, steps.on_batches,
                                               context.registry));
  }
  if (skips) {
    FM_ASSIGN_OR_RETURN(
        SourcePlan source,
        PlanSource(graph, *files, plan->seed(), plan->iteration()));
    program->origins =
        std::make_shared<const OriginFinder>(plan, files, std::move(source));
  }
  program->ChooseForms(skips);
  program->Estimate(*files);
  return std::shared_ptr<const StageProgram>(std::move(program));
}

absl::Status StageProgram::CompileBatches(
    size_t step, const std::vector<size_t>& after,
    const std::shared_ptr<const FunctionRegistry>& registry) {
  batch_step = step;
  const AnalyzedGraph& graph = plan->graph();
  FM_ASSIGN_OR_RETURN(
      batches,
      BlockProgram::Make(plan, registry, after, *graph.steps[step].output,
                         graph.skip_before || covered));
  record_bytes = LeastBytes(*record_spec);
  const auto& batch = graph.graph.steps[step].Get<BatchStep>();
  stacker = std::make_unique<const BatchStacker>(batch.layout, batch.padding,
                                                 *record_spec);
  auto spec = std::make_shared<ElementSpec>();
  for (const ComponentSpec& c : record_spec->components) {
    gathered.push_back(!after.empty() || !InPlace(c) ||
                       batch.layout != BatchLayout::kEqual);
    if (gathered.back()) spec->components.push_back(c);
  }
  gathered_spec = std::move(spec);
  return absl::OkStatus();
}

// Chooses how rows enter the chunk, and how a piece names them.
void StageProgram::ChooseForms(bool skips) {
  const std::vector<bool>& placed = records->placed();
  places = batches == nullptr && !records->heavy() &&
           std::count(placed.begin(), placed.end(), false) == 0;
  appends = batches == nullptr && !places && records->appends();
  const bool filters = records->filters() || source->drops() ||
                       (batches != nullptr && batches->filters());
  naming = !plan->graph().source.counted ? Naming::kRuns
           : filters || skips            ? Naming::kBitmap
                                         : Naming::kDense;
}

bool StageProgram::rows_heavy() const {
  return records->heavy() || source->heavy() ||
         (batches != nullptr && batches->heavy());
}

absl::Status StageProgram::AtRecord(const absl::Status& status, size_t step,
                                    const RecordRef& ref, uint64_t row) const {
  const Step& written = plan->graph().graph.steps[step];
  return Annotate(
      status, fmt::format("{}: steps[{}] {}", source->Describe(ref, row), step,
                          written.name()));
}

void StageProgram::Estimate(const Manifest& manifest) {
  heavy = records->heavy() || naming == Naming::kRuns ||
          (batches != nullptr && batches->heavy()) || source->heavy();
  if (plan->graph().source.streamed) return;  // a position is a whole pass
  // If positions are whole files, there is no bound: it would keep threads from
  // other files.
  if (!rows_heavy() &&
      PropertiesOf(plan->graph().graph.source).positions != Positions::kFiles) {
    ahead_bytes = kCheapAheadBytes;
  }
  size_t average_bytes = 0;
  if (manifest.TotalRecords() > 0) {
    average_bytes =
        static_cast<size_t>(manifest.TotalBytes() / manifest.TotalRecords());
  }
  if (!heavy && average_bytes > 0) {
    together = std::min<uint64_t>(
        {plan->read_together(), kTogetherBytes / average_bytes, kBlockRows});
    together = std::max<uint64_t>(together, 1);
    together_bytes = static_cast<size_t>(together) * average_bytes * 9 / 8;
  }
  size_t total = 0;
  for (const ComponentSpec& component : record_spec->components) {
    if (component.dtype == DType::kBytes) {
      total += average_bytes;
    } else if (component.IsStatic()) {
      total += StaticBytes(component);
    } else {
      return;  // unknown
    }
  }
  if (batches != nullptr) {
    const auto count = static_cast<size_t>(plan->size() > 0 ? plan->RecordsAt(0)
                                                            : uint64_t{1});
    if (__builtin_mul_overflow(total, count, &total) || total > kMost) {
      total = kMost;  // making it will be an error
    }
  }
  estimated_bytes = total;
}

}  // namespace feedmill
