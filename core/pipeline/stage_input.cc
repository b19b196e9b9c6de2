#include "core/pipeline/stage_input.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/generator_source.h"
#include "core/dataset/python_functions.h"
#include "core/dataset/source_types.h"
#include "core/pipeline/block_program.h"
#include "core/sources/file_order.h"
#include "core/sources/record_source.h"

namespace feedmill {
namespace {

// The elements of a generator; blocks are its shards.
class GeneratorRecords final : public RecordSource {
 public:
  // `lengths`: the promised number of elements of each shard; empty: unknown.
  GeneratorRecords(std::shared_ptr<PythonGenerator> generator,
                   std::vector<bool> live, std::vector<int64_t> lengths)
      : generator_(std::move(generator)),
        live_(std::move(live)),
        lengths_(std::move(lengths)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Scratch>();
  }

  absl::StatusOr<bool> ReadBlock(uint64_t index, uint64_t row, size_t bytes_max,
                                 RecordBlock& out) const override {
    out.rows = 0;
    out.error = absl::OkStatus();
    out.ends_block = false;
    const auto count =
        static_cast<size_t>(std::count(live_.begin(), live_.end(), true));
    out.columns.resize(count);
    std::vector<OutputColumn*> columns(live_.size(), nullptr);
    size_t next = 0;
    for (size_t c = 0; c < live_.size(); ++c) {
      if (live_[c]) columns[c] = &out.columns[next++];
    }
    FM_ASSIGN_OR_RETURN(
        const PythonGenerator::Rows made,
        generator_->Read(index, row, std::max<size_t>(bytes_max, 1), columns));
    out.rows = made.rows;
    absl::Status error = made.error;
    if (error.ok()) error = CheckLength(index, row, made.more, out);
    if (error.ok()) return made.more;
    out.error = Annotate(error, Describe(index, row + out.rows));
    out.ends_block = true;
    return false;
  }

  std::optional<RowState> StateBefore(uint64_t index,
                                      uint64_t row) const override {
    return generator_->StateBefore(index, row);
  }
  void Restore(uint64_t index, RowState state) const override {
    generator_->Restore(index, std::move(state));
  }

  std::string Describe(uint64_t index, uint64_t row) const override {
    return fmt::format("element {} of shard {} of the generator", row, index);
  }

 private:
  // Compares the number of elements of a shard with the promised one, and cuts
  // rows that are too many.
  absl::Status CheckLength(uint64_t index, uint64_t row, bool more,
                           RecordBlock& out) const {
    if (lengths_.empty()) return absl::OkStatus();
    const auto length = static_cast<uint64_t>(lengths_.at(index));
    const uint64_t end = row + out.rows;
    if (end > length) {
      out.Truncate(static_cast<size_t>(length - row));
      return DataLoss(
          "it is one element too many: the generator's length is {} for this "
          "shard",
          length);
    }
    if (more || end == length) return absl::OkStatus();
    return DataLoss(
        "it is missing: the shard ended after {} elements, and the generator's "
        "length is {} for it",
        end, length);
  }

  const std::shared_ptr<PythonGenerator> generator_;
  const std::vector<bool> live_;  // of all components
  const std::vector<int64_t> lengths_;
};

// `live`: see RecordSource::Make. FailedPrecondition if the process runs no
// Python functions.
absl::StatusOr<std::unique_ptr<const RecordSource>> MakeGeneratorRecords(
    const GeneratorSource& source, const FunctionRegistry& registry,
    const std::vector<bool>& live) {
  if (registry.python() == nullptr) {
    return FailedPrecondition("this process allows no Python functions");
  }
  std::vector<bool> all = live;
  if (all.empty()) all.assign(source.output.size(), true);
  const bool of_each =
      source.length.size() == static_cast<size_t>(source.shards);
  return std::make_unique<GeneratorRecords>(
      registry.python()->LoadGenerator(source), std::move(all),
      of_each ? source.length : std::vector<int64_t>());
}

// Returns the end of the records that the plan reads. kInfinite if it reads
// them several times, or in another order than the source's.
uint64_t EndOfRecords(const Plan& plan) {
  if (plan.size() == 0 || plan.size() == kInfinite) return plan.size();
  const uint64_t last = plan.size() - 1;
  const RecordRef record = plan.Record(last, plan.RecordsAt(last) - 1);
  const RecordRun run = plan.RunAt(0, plan.size());
  const bool whole = run.count > 0 && record.pass == run.first.pass &&
                     record.index == run.first.index + run.count - 1;
  return whole ? record.index + 1 : kInfinite;
}

class SourceInput final : public StageInput {
 public:
  SourceInput(std::shared_ptr<const Plan> plan,
              std::shared_ptr<const Manifest> manifest,
              std::unique_ptr<const RecordSource> source, bool heavy)
      : plan_(std::move(plan)),
        manifest_(std::move(manifest)),
        order_(*plan_, *manifest_),
        source_(std::move(source)),
        heavy_(heavy) {}

  std::unique_ptr<StageInput::Scratch> NewScratch() const override {
    auto scratch = std::make_unique<SourceScratch>();
    scratch->source = source_->NewScratch();
    return scratch;
  }

  absl::StatusOr<size_t> Read(std::span<const RecordRef> refs, size_t bytes_max,
                              StageInput::Scratch& scratch,
                              InputBlock& out) const override {
    auto& own = static_cast<SourceScratch&>(scratch);
    order_.Map(refs, own.indexes);
    return source_->Read(own.indexes, bytes_max, *own.source, out);
  }

  absl::StatusOr<size_t> ReadRun(const RecordRun& run, size_t bytes_max,
                                 StageInput::Scratch& scratch,
                                 InputBlock& out) const override {
    if (!order_.same()) {
      return StageInput::ReadRun(run, bytes_max, scratch, out);
    }
    return source_->ReadRun(run.first.index, run.count, bytes_max,
                            *static_cast<SourceScratch&>(scratch).source, out);
  }

  absl::StatusOr<bool> ReadBlock(const RecordRef& ref, uint64_t row,
                                 size_t bytes_max, StageInput::Scratch&,
                                 InputBlock& out) const override {
    return source_->ReadBlock(order_.At(ref), row, bytes_max, out);
  }

  std::optional<RowState> StateBefore(const RecordRef& ref,
                                      uint64_t row) const override {
    return source_->StateBefore(order_.At(ref), row);
  }
  void Restore(const RecordRef& ref, RowState state) const override {
    source_->Restore(order_.At(ref), std::move(state));
  }

  size_t records_ahead() const override { return source_->records_ahead(); }

  void PrefetchRecords(std::span<const RecordRef> refs,
                       StageInput::Scratch& scratch) const override {
    auto& own = static_cast<SourceScratch&>(scratch);
    order_.Map(refs, own.indexes);
    source_->PrefetchRecords(own.indexes);
  }

  std::string Describe(const RecordRef& ref, uint64_t row) const override {
    return source_->Describe(order_.At(ref), row);
  }
  bool heavy() const override { return heavy_; }

 private:
  struct SourceScratch final : StageInput::Scratch {
    std::unique_ptr<RecordSource::Scratch> source;
    std::vector<uint64_t> indexes;
  };

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const Manifest> manifest_;
  const FileOrder order_;
  const std::unique_ptr<const RecordSource> source_;
  const bool heavy_;
};

}  // namespace

absl::StatusOr<size_t> StageInput::ReadRun(const RecordRun& run,
                                           size_t bytes_max, Scratch& scratch,
                                           InputBlock& out) const {
  const uint64_t count = std::min<uint64_t>(run.count, kBlockRows);
  std::vector<RecordRef> refs;
  refs.reserve(count);
  for (uint64_t k = 0; k < count; ++k) {
    refs.push_back({run.first.index + k, run.first.pass});
  }
  return Read(refs, bytes_max, scratch, out);
}

absl::StatusOr<std::unique_ptr<const StageInput>> MakeSourceInput(
    std::shared_ptr<const Plan> plan, std::shared_ptr<const Manifest> manifest,
    const StageContext& context) {
  const AnalyzedGraph& graph = plan->graph();
  const auto* generator = graph.graph.source.As<GeneratorSource>();
  RowFilter filter = RowFilter::Of(graph);
  if (manifest != nullptr && FileOrder(*plan, *manifest).same()) {
    filter.EndAt(EndOfRecords(*plan));
  }
  FM_ASSIGN_OR_RETURN(
      auto source,
      generator != nullptr
          ? MakeGeneratorRecords(*generator, *context.registry,
                                 graph.source.live)
          : RecordSource::Make(graph.graph.source, graph.source.counted,
                               manifest, graph.source.live, filter));
  if (manifest == nullptr) manifest = std::make_shared<const Manifest>();
  const std::string_view costly =
      PropertiesOf(graph.graph.source).heavy_component;
  const bool heavy =
      generator != nullptr ||
      (!costly.empty() && graph.source.spec.Find(std::string(costly)) >= 0);
  return std::unique_ptr<const StageInput>(std::make_unique<SourceInput>(
      std::move(plan), std::move(manifest), std::move(source), heavy));
}

absl::StatusOr<std::unique_ptr<const StageInput>> StageInput::Make(
    const std::shared_ptr<const Plan>& plan,
    std::shared_ptr<const Manifest> manifest, const StageContext& context) {
  const AnalyzedGraph& graph = plan->graph();
  if (graph.inputs.empty() && graph.cached == nullptr) {
    return MakeSourceInput(plan, std::move(manifest), context);
  }
  if (manifest == nullptr) manifest = std::make_shared<const Manifest>();
  if (graph.source.streamed && graph.cached == nullptr) {
    return MakeStreamedInput(plan, std::move(manifest), context);
  }
  FM_ASSIGN_OR_RETURN(
      const SourcePlan source,
      PlanSource(graph, *manifest, plan->seed(), plan->iteration()));
  return graph.cached != nullptr
             ? MakeCachedInput(graph, source, std::move(manifest), context)
             : MakeCombinedInput(graph, source, manifest, context);
}

}  // namespace feedmill
