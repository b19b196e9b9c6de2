#ifndef FEEDMILL_CORE_PIPELINE_STAGE_INPUT_H_
#define FEEDMILL_CORE_PIPELINE_STAGE_INPUT_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/generator_state.h"
#include "core/chunk/skipped_element.h"
#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/io/manifest.h"
#include "core/pipeline/input_service.h"
#include "core/pipeline/stream_threads.h"
#include "core/plan/plan.h"
#include "core/sources/record_source.h"
#include "core/sources/source_plan.h"
#include "feedmill/element.h"

namespace feedmill {

// Rows that enter a pipeline's steps. The columns are valid until the next read
// with the same Scratch; without rows, they may be anything.
struct InputBlock : RecordBlock {
  // True if some rows are missing, as if a filter had dropped them. The columns
  // then have only the rows in `origins`, in order.
  bool dropped = false;
  std::vector<uint32_t> origins;

  // True if the row is present. REQUIRES: dropped.
  bool Has(size_t row) const {
    return std::binary_search(origins.begin(), origins.end(), row);
  }
};

// Most rows of one read if a row takes microseconds or more.
inline constexpr size_t kHeavyRows = 64;

// Data that the parts of a stage share.
struct StageContext {
  std::shared_ptr<const FunctionRegistry> registry;  // with files bound
  std::vector<NamedContent> contents;  // of files that expressions name
  // True for an input of a pipeline whose on_error skips elements that fail
  // here.
  bool covered = false;
  // Other threads that make elements of streamed inputs; null: none.
  std::shared_ptr<StreamThreads> threads{};
  // Other workers, which may make inputs of streamed sources; null: none.
  std::shared_ptr<InputService> service{};
  // The pipeline of this stage as a part of the whole one (Graph::part).
  std::vector<size_t> part{};
};

// The input of a worker stage's steps: the records of a source. For a combining
// source, it is the elements of the inputs, which their own plans and steps
// make. A returned error Status concerns this machine only; bad data is
// BadRow::error.
//
// Thread-safety: any thread, each with its own Scratch.
class StageInput {
 public:
  class Scratch {
   public:
    virtual ~Scratch() = default;
    using Clock = std::chrono::steady_clock;
    // Most rows to compute together, if the input computes any.
    size_t rows_max = std::numeric_limits<size_t>::max();
    // A read may end early, with one row at least, after this time.
    Clock::time_point ends = Clock::time_point::max();
    // See WorkerStage::Scratch.
    bool beside = false;
    bool wants_beside = false;

    bool due() const {
      return ends != Clock::time_point::max() && Clock::now() >= ends;
    }
  };

  // Returns the input of `plan`'s stage, for the files of `manifest` (null if
  // it has none).
  static absl::StatusOr<std::unique_ptr<const StageInput>> Make(
      const std::shared_ptr<const Plan>& plan,
      std::shared_ptr<const Manifest> manifest, const StageContext& context);
  virtual ~StageInput() = default;

  virtual std::unique_ptr<Scratch> NewScratch() const = 0;

  // Reads the first of `refs`, in their order, one row each: as many as fit
  // into about `bytes_max`, at least one. Returns the number of rows read. If
  // out.error is set, the bad row is not counted. REQUIRES: positions are
  // records, refs is not empty.
  virtual absl::StatusOr<size_t> Read(std::span<const RecordRef> refs,
                                      size_t bytes_max, Scratch& scratch,
                                      InputBlock& out) const = 0;

  // Same for a run; see RecordSource::ReadRun. REQUIRES: run.count > 0.
  virtual absl::StatusOr<size_t> ReadRun(const RecordRun& run, size_t bytes_max,
                                         Scratch& scratch,
                                         InputBlock& out) const;

  // See RecordSource::ReadBlock. REQUIRES: positions are blocks.
  virtual absl::StatusOr<bool> ReadBlock(const RecordRef& ref, uint64_t row,
                                         size_t bytes_max, Scratch& scratch,
                                         InputBlock& out) const = 0;

  // See RecordSource::StateBefore and Restore.
  virtual std::optional<RowState> StateBefore(const RecordRef&,
                                              uint64_t) const {
    return std::nullopt;
  }
  virtual void Restore(const RecordRef&, RowState) const {}
  // See WorkerStage::Rest.
  virtual void Rest() const {}

  // See RecordSource::records_ahead and PrefetchRecords.
  virtual size_t records_ahead() const { return 0; }
  virtual void PrefetchRecords(std::span<const RecordRef>, Scratch&) const {}

  // Returns "photos.tfrecord: record 17 at offset 2048", for errors.
  virtual std::string Describe(const RecordRef& ref, uint64_t row) const = 0;
  // True if a row takes microseconds or more.
  virtual bool heavy() const = 0;
  // True if rows may be dropped.
  virtual bool drops() const { return false; }
};

// The inputs of a graph without inputs, of a combining source, of one whose
// inputs are streams (SourceTraits::streamed), and of the steps after a cache.
absl::StatusOr<std::unique_ptr<const StageInput>> MakeSourceInput(
    std::shared_ptr<const Plan> plan, std::shared_ptr<const Manifest> manifest,
    const StageContext& context);
absl::StatusOr<std::unique_ptr<const StageInput>> MakeCombinedInput(
    const AnalyzedGraph& graph, const SourcePlan& source,
    const std::shared_ptr<const Manifest>& manifest,
    const StageContext& context);
absl::StatusOr<std::unique_ptr<const StageInput>> MakeStreamedInput(
    const std::shared_ptr<const Plan>& plan,
    std::shared_ptr<const Manifest> manifest, const StageContext& context);
absl::StatusOr<std::unique_ptr<const StageInput>> MakeCachedInput(
    const AnalyzedGraph& graph, const SourcePlan& source,
    std::shared_ptr<const Manifest> manifest, const StageContext& context);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STAGE_INPUT_H_
