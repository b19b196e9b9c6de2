#ifndef FEEDMILL_CORE_PIPELINE_STAGE_INPUT_H_
#define FEEDMILL_CORE_PIPELINE_STAGE_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/progression.h"
#include "core/chunk/skipped_element.h"
#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/io/manifest.h"
#include "core/plan/plan.h"
#include "core/sources/source_plan.h"
#include "feedmill/chunk.h"
#include "feedmill/provenance.h"

namespace feedmill {

// Rows that enter a pipeline's steps, columnar.
struct InputBlock {
  size_t rows = 0;
  // One per component, of that many rows or more; may be null if there are no
  // rows. Valid until the next read with the same Scratch.
  std::vector<const Column*> columns;
  // Not OK: the row after the last one is bad, a function of the data.
  absl::Status error;
  // … and the rest of its block cannot be read for it.
  bool ends_block = false;
  // RecordBlock's. With a progression the column is empty.
  bool takes_trailing = false;
  size_t trailing = 0;
  bool takes_progression = false;
  std::optional<Progression> progression;
  // … and so many of the steps stand before what failed.
  size_t failed_after = 0;
  // … or an on_error of an input has left it out already.
  bool left_out = false;
  // What it was to be made of, where only the input knows.
  std::vector<RecordOrigin> failed_records;
  // Set by who reads, and may take what is read: where large columns' memory
  // comes from, if the source can; null: malloc.
  std::shared_ptr<BlockSource> blocks;
  // Set where the columns stand in memory that is kept: who takes a megabyte of
  // them saves more than smaller pieces cost.
  bool kept = false;
  // Some rows are not there, as if a filter had dropped them: the columns have
  // those that `origins` names, in order.
  bool dropped = false;
  std::vector<uint32_t> origins;

  // Whether the row is there, if some are dropped.
  bool Has(size_t row) const {
    return std::binary_search(origins.begin(), origins.end(), row);
  }
};

// Rows in kept memory are a piece of their own from this size on.
inline constexpr size_t kKeptBytes = size_t{1} << 20;

// What the parts of a stage have in common.
struct StageContext {
  std::shared_ptr<const FunctionRegistry> registry;  // with the files bound
  std::vector<NamedContent> contents;                // that expressions name
  // An on_error of a pipeline, of which this is an input's, leaves out what
  // fails here.
  bool covered = false;
};

// What the steps of a worker stage read: the records of a source or, of a
// source made of inputs, the elements that the inputs' own plans and steps
// make. A returned Status is for this machine only; bad data is
// InputBlock::error.
//
// Thread-safety: any thread, each with its own Scratch.
class StageInput {
 public:
  class Scratch {
   public:
    virtual ~Scratch() = default;
  };

  // The input of `plan`'s stage, whose files are those of `manifest` (null if
  // it has none).
  static absl::StatusOr<std::unique_ptr<const StageInput>> Make(
      const std::shared_ptr<const Plan>& plan,
      std::shared_ptr<const Manifest> manifest, const StageContext& context);
  virtual ~StageInput() = default;

  virtual std::unique_ptr<Scratch> NewScratch() const = 0;

  // Reads the first of `refs`, in their order: as many as fit into about
  // `bytes_max` (at least one), a row each. Returns how many were read; where
  // out.error is set, the bad one is not among them. REQUIRES: positions are
  // records, refs is not empty.
  virtual absl::StatusOr<size_t> Read(std::span<const RecordRef> refs,
                                      size_t bytes_max, Scratch& scratch,
                                      InputBlock& out) const = 0;

  // The same of a run. REQUIRES: run.count > 0.
  virtual absl::StatusOr<size_t> ReadRun(const RecordRun& run, size_t bytes_max,
                                         Scratch& scratch,
                                         InputBlock& out) const;

  // RecordSource::ReadBlock. REQUIRES: positions are not records.
  virtual absl::StatusOr<bool> ReadBlock(const RecordRef& ref, uint64_t row,
                                         size_t bytes_max, Scratch& scratch,
                                         InputBlock& out) const = 0;

  // The columns of the last block that was read, with their memory: what
  // block.columns viewed, which end here. None where they are another's.
  virtual std::vector<Column> Take(Scratch& scratch) const;
  // Gives back what memory of InputBlock::blocks it has. The last block ends.
  virtual void LeaveBlocks(Scratch&) const {}

  // "photos.tfrecord: record 17 at offset 2048"
  virtual std::string Describe(const RecordRef& ref, uint64_t row) const = 0;
  // Whether a row costs microseconds or more.
  virtual bool heavy() const = 0;
  // Whether rows may be dropped.
  virtual bool drops() const { return false; }
};

// The input of a graph without inputs, of one with them, of one whose inputs
// are streams (SourceTraits::streamed), and of what stands behind a cache.
absl::StatusOr<std::unique_ptr<const StageInput>> MakeSourceInput(
    std::shared_ptr<const Plan> plan, std::shared_ptr<const Manifest> manifest);
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
