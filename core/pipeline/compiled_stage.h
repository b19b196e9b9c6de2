#ifndef FEEDMILL_CORE_PIPELINE_COMPILED_STAGE_H_
#define FEEDMILL_CORE_PIPELINE_COMPILED_STAGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/byte_budget.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/block_program.h"
#include "core/pipeline/stage_input.h"
#include "core/pipeline/worker_stage.h"
#include "core/sources/origins.h"

// Internals of the worker stage: worker_stage.cc runs records and lines,
// worker_stage_batches.cc runs batches.

namespace feedmill {

// Records read ahead for heavy steps, and bytes of one read.
inline constexpr size_t kHeavyRows = 64;
inline constexpr size_t kReadBytes = size_t{1} << 20;
// Bytes of one read if each record becomes a row at once, while it is in the
// cache.
inline constexpr size_t kAppendedBytes = size_t{256} << 10;
// Largest piece of positions that are read in another order than that of the
// source. The larger the piece, the more of its records are adjacent.
inline constexpr size_t kTogetherBytes = size_t{2} << 20;

// The state of a piece that is being made.
struct Making {
  Making(std::shared_ptr<const ElementSpec> spec,
         std::shared_ptr<BlockSource> blocks)
      : builder(std::move(spec), std::move(blocks)) {}

  size_t rows() const { return taken.rows + placed_rows + builder.rows(); }
  size_t bytes() const {
    size_t bytes = builder.bytes() + rows() * sizeof(int64_t);
    for (const Column& column : taken.columns) bytes += column.values.size();
    for (const BufferBuilder& column : placed) bytes += column.size();
    return bytes;
  }
  // Number of bytes to read for the rest of the piece.
  size_t BytesAhead() const {
    if (full()) return 1;
    const size_t left = bytes_target - bytes();
    if (!appends) return std::min(read_bytes, left);
    // Records are a little larger than the rows made of them, and the number of
    // rows is bounded, too.
    const size_t most = left + left / 8;
    return most <= read_bytes + read_bytes / 4 ? most : read_bytes;
  }
  bool full() const { return taken.rows > 0 || bytes() >= bytes_target; }

  ChunkBuilder builder;
  // Set instead of `builder` if the columns of one block become the piece.
  Chunk taken;
  // Set instead of `builder` if the record program writes all columns: their
  // values.
  std::vector<BufferBuilder> placed;
  size_t placed_rows = 0;
  Cursor begin;
  Cursor end;
  Cursor limit;  // end of the requested interval
  size_t bytes_target = 0;
  size_t read_bytes = kReadBytes;
  bool appends = false;         // the record program appends to `builder`
  std::vector<uint8_t> bits;    // if filters may drop positions
  std::vector<CursorRun> runs;  // if positions make several elements
  absl::Status error;
  bool failed = false;
  // Number of steps before the one that failed; 0 for the source.
  size_t failed_after = 0;
  RecordRef failed_ref;
  uint64_t failed_row = 0;  // within its block
  bool ends_block = false;  // the rest of the block cannot be read
  bool left_out = false;    // an on_error of an input skipped it
  std::vector<RecordOrigin> failed_records;

  void Fail(Cursor at, absl::Status status, size_t after, RecordRef ref,
            uint64_t row = 0) {
    builder.DropUnfinished();
    error = std::move(status);
    end = at;
    failed = true;
    failed_after = after;
    failed_ref = ref;
    failed_row = row;
  }
};

struct StageScratch final : WorkerStage::Scratch {
  std::unique_ptr<StageInput::Scratch> source;
  InputBlock block;
  // The requested records: `run` or, if it is empty, `refs`.
  RecordRun run;
  std::vector<RecordRef> refs;
  RecordRef RefAt(size_t k) const {
    return run.count > 0 ? RecordRef{run.first.index + k, run.first.pass}
                         : refs[k];
  }
  size_t asked() const {
    return run.count > 0 ? static_cast<size_t>(run.count) : refs.size();
  }
  // Positions that indexes [0, n) stand for; if empty, each stands for itself.
  std::span<const uint64_t> places;
  uint64_t PlaceOf(uint64_t p) const { return places.empty() ? p : places[p]; }
  std::vector<Cursor> counters;
  std::vector<uint64_t> passes;
  std::vector<Column> slices;

  std::shared_ptr<BlockProgram::Scratch> records;
  BlockProgram::Input records_in;
  BlockProgram::Output records_out;
  std::vector<uint32_t> origins;  // of records_out, by row of the block if
  std::vector<uint64_t> kept;     // rows of the block were missing

  std::shared_ptr<BlockProgram::Scratch> batches;
  BlockProgram::Input batches_in;
  BlockProgram::Output batches_out;
  std::vector<Column> stacked;
  std::vector<size_t> groups;

  // Cursor of the current element, and the largest number of rows to compute
  // together. This number shrinks when rows exceed the ByteBudget together.
  Cursor at;
  size_t rows_together = std::numeric_limits<size_t>::max();

  double row_bytes = 0;  // average of the output so far, for reading ahead
  std::vector<size_t> appended;  // bytes of each column of the last chunk
};

// Sets bit base + r for each kept input row r.
void SetBits(const BlockProgram::Output& rows, size_t base,
             std::vector<uint8_t>& bits);

// Bytes of one row. REQUIRES: the shape is static.
size_t StaticBytes(const ComponentSpec& component);
// True if all rows have one known size.
bool InPlace(const ComponentSpec& component);

class CompiledStage final : public WorkerStage,
                            public std::enable_shared_from_this<CompiledStage> {
 public:
  // Same as WorkerStage::Make; also compiles the part of a stage before a
  // cache.
  static absl::StatusOr<std::shared_ptr<const CompiledStage>> Compile(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const Manifest> manifest, const StageContext& context);

  std::unique_ptr<Scratch> NewScratch() const override {
    auto scratch = std::make_unique<StageScratch>();
    scratch->source = source_->NewScratch();
    scratch->records = record_program_->NewScratch();
    if (batch_program_ != nullptr) {
      scratch->batches = batch_program_->NewScratch();
    }
    return scratch;
  }

  std::shared_ptr<const WorkerStage> ForShare(Share share) const override;

  absl::StatusOr<Piece> Run(Cursor begin, Cursor end, size_t bytes_target,
                            Scratch& scratch) const override {
    bool outer = false;
    return Run(begin, end, bytes_target, scratch, outer);
  }
  // Same, and reports in `outer` that an on_error of the enclosing pipeline,
  // not of this one, skips piece.skipped.
  absl::StatusOr<Piece> Run(Cursor begin, Cursor end, size_t bytes_target,
                            Scratch& scratch, bool& outer) const;

  size_t EstimatedBytes() const override { return estimated_bytes_; }
  bool heavy() const override { return heavy_; }
  size_t AheadBytes() const override { return ahead_bytes_; }
  uint64_t together() const override { return together_; }

  // ---- for a cache, which keeps the rows of this stage
  // Rows of the first requested positions, or of a part of a block.
  struct ComputedRows {
    Chunk chunk;
    // Number of positions, or of rows of the block. The last ones may have no
    // row.
    uint64_t count = 0;
    bool dropped = false;  // chunk row r belongs to number origins[r]
    std::vector<uint32_t> origins;
    bool more = false;   // the block continues after these rows
    absl::Status error;  // of the next position or row
    bool ends_block = false;
    size_t failed_after = 0;
    bool left_out = false;
    std::vector<RecordOrigin> failed_records;
  };
  // Makes the first elements of `positions`, in any order: as many as take
  // about `bytes_target` bytes, at least one. REQUIRES: positions are records.
  absl::StatusOr<ComputedRows> MakeAt(std::span<const uint64_t> positions,
                                      size_t bytes_target,
                                      StageScratch& scratch) const;
  // Makes rows of a position that is a block: from row `row` on, about
  // `bytes_target` bytes.
  absl::StatusOr<ComputedRows> MakeInBlock(uint64_t position, uint64_t row,
                                           size_t bytes_target,
                                           StageScratch& scratch) const;
  const std::shared_ptr<const ElementSpec>& output() const { return output_; }
  // True if making a row takes microseconds or more.
  bool rows_heavy() const;
  bool drops() const { return naming_ == Naming::kBitmap; }
  std::string Describe(uint64_t position, uint64_t row) const;

 private:
  enum class Naming { kDense, kBitmap, kRuns };
  // Destinations of the records of one batch, by component.
  struct BatchTargets {
    std::vector<std::byte*> in_place;  // null: use `gathered`
    std::vector<size_t> row_bytes;
    std::unique_ptr<ChunkBuilder> gathered;
  };

  // Run without a retry: throws MemoryRefused.
  absl::StatusOr<Piece> RunOnce(Cursor begin, Cursor end, size_t bytes_target,
                                StageScratch& scratch, bool& outer) const;
  // Returns the piece for a caller that asked from `asked` on.
  Piece Conclude(Cursor asked, Making& making, StageScratch& scratch,
                 bool& outer) const;
  // Returns a piece that ends at `begin`, because that element is too large.
  Piece Refuse(Cursor asked, Cursor begin, Cursor end,
               const MemoryRefused& refused, StageScratch& scratch,
               bool& outer) const;
  // Frees the memory of a run that an exception ended.
  void Renew(StageScratch& scratch) const;

  CompiledStage() = default;
  CompiledStage(const CompiledStage&) = default;  // copies share the parts
  void Estimate(const Manifest& manifest);

  // If an on_error skips the failed element, moves `making` past it.
  std::optional<SkippedElement> SkipFailed(Making& making, bool& outer) const;

  // Makes the rows that `making` requests; the caller finishes it.
  absl::Status Make(Making& making, StageScratch& scratch) const;
  absl::Status RunRecords(Making& making, StageScratch& scratch) const;
  absl::Status RunBlocks(Making& making, StageScratch& scratch) const;
  absl::Status RunBlock(uint64_t last, bool& more, Cursor& at, Making& making,
                        StageScratch& scratch) const;
  absl::Status RunBatches(Making& making, StageScratch& scratch) const;

  void Ask(uint64_t begin, uint64_t end, StageScratch& scratch) const;
  void AskRun(uint64_t begin, uint64_t end, StageScratch& scratch) const;
  absl::StatusOr<size_t> ReadAhead(size_t from, size_t bytes,
                                   StageScratch& scratch) const;
  absl::StatusOr<size_t> ReadRecords(size_t from, size_t bytes,
                                     StageScratch& scratch) const;
  absl::StatusOr<bool> ReadBlock(uint64_t row, size_t bytes,
                                 StageScratch& scratch) const;
  void FailReading(const MemoryRefused& refused, const RecordRef& ref,
                   uint64_t row, StageScratch& scratch) const;
  void SetNames(uint64_t p, size_t from, size_t count,
                StageScratch& scratch) const;
  static void Widen(size_t first, size_t count, size_t begin,
                    StageScratch& scratch);
  void RunProgram(size_t first, size_t count, StageScratch& scratch) const;
  size_t RowsAhead(const Making& making, const StageScratch& scratch,
                   uint64_t left) const;

  void Reserve(Making& making, const StageScratch& scratch) const;
  void ReserveDirect(size_t rows, Making& making, StageScratch& scratch) const;
  void KeepPlaced(Making& making, const StageScratch& scratch) const;
  Chunk Finish(Making making) const;
  bool TakeRecords(bool last, Making& making, StageScratch& scratch) const;
  void AppendRecords(uint64_t p, bool last, Making& making,
                     StageScratch& scratch) const;

  size_t BatchesTogether(uint64_t p, uint64_t records, bool alone,
                         const Making& making,
                         const StageScratch& scratch) const;
  // Runs one or more whole batches that fit into one block. Returns false if
  // they do not fit or if one of them fails; then each batch has to be made
  // alone.
  absl::StatusOr<bool> RunBlockOfBatches(uint64_t p, size_t batches,
                                         uint64_t records, Making& making,
                                         StageScratch& scratch) const;
  absl::Status RunOneBatch(uint64_t p, uint64_t records, Making& making,
                           StageScratch& scratch) const;
  BatchTargets TargetsOfBatch(uint64_t records, Making& making) const;
  void AppendToBatch(size_t at, const BatchTargets& targets,
                     StageScratch& scratch) const;
  absl::Status StackGathered(const Chunk& gathered, size_t records,
                             std::vector<Column>& out) const;
  bool FinishBatch(uint64_t p, uint64_t records, BatchTargets& targets,
                   Making& making, StageScratch& scratch) const;
  void FinishBatches(uint64_t p, size_t batches, Making& making,
                     StageScratch& scratch) const;

  absl::Status AtRecord(const absl::Status& status, size_t step,
                        const RecordRef& ref, uint64_t row) const;
  // Ends the piece before the batch at position p, which is too large.
  void FailBatch(uint64_t p, const absl::Status& status, Making& making,
                 const StageScratch& scratch) const;

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const StageInput> source_;
  size_t source_place_ = 0;  // index in a profile
  // The last step that makes rows, if any.
  std::optional<size_t> last_step_;
  std::shared_ptr<const OriginFinder> origins_;  // null: on_error skips nothing
  std::shared_ptr<const BlockProgram> record_program_;
  std::shared_ptr<const BlockProgram> batch_program_;  // null: no batches
  std::shared_ptr<const BatchStacker> stacker_;        // null: no batches
  size_t batch_step_ = 0;      // index of the plan's batch, if any
  uint64_t record_bytes_ = 1;  // least bytes of a record of a batch
  std::shared_ptr<const ElementSpec> output_;
  std::shared_ptr<const ElementSpec> record_spec_;    // before the batch
  std::shared_ptr<const ElementSpec> gathered_spec_;  // not written in place
  std::vector<bool> gathered_;                        // by component
  Naming naming_ = Naming::kDense;
  size_t estimated_bytes_ = 0;
  uint64_t together_ = 1;
  size_t together_bytes_ = 0;  // source bytes of `together_` positions
  bool heavy_ = false;
  size_t ahead_bytes_ = std::numeric_limits<size_t>::max();
  bool places_ = false;   // the record program writes all columns
  bool appends_ = false;  // the record program appends to all columns
  bool covered_ = false;  // StageContext::covered
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_COMPILED_STAGE_H_
