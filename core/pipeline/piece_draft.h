#ifndef FEEDMILL_CORE_PIPELINE_PIECE_DRAFT_H_
#define FEEDMILL_CORE_PIPELINE_PIECE_DRAFT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/chunk_builder.h"
#include "core/chunk/cursor.h"
#include "core/pipeline/stage_program.h"
#include "core/pipeline/stage_scratch.h"
#include "feedmill/element.h"

namespace feedmill {

// Bytes of one read.
inline constexpr size_t kReadBytes = size_t{1} << 20;
// Bytes of one read if each record becomes a row at once, while it is in the
// cache.
inline constexpr size_t kAppendedBytes = size_t{256} << 10;

// A piece that is being made: its rows, their names, and the error that ends
// it. The rows become a chunk in one of three ways: they are appended to a
// builder, written in place by the record program, or taken from one block.
struct PieceDraft {
  PieceDraft(const StageProgram& program, StageScratch& scratch,
             std::shared_ptr<BlockSource> blocks)
      : builder(program.output, std::move(blocks)),
        program_(program),
        scratch_(scratch) {}

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

  // Returns how many records to read for the rest of the piece, at most `left`.
  size_t RowsAhead(uint64_t left) const;

  // Reserves memory for the expected rows, so that columns do not move as they
  // grow.
  void Reserve();
  // Lets the record program write its next rows directly into the chunk, if it
  // can.
  void ReserveDirect(size_t rows);
  // Adds the record program's output, made of positions from p on. `last`: the
  // piece ends with these rows.
  void AppendRecords(uint64_t p, bool last);
  // Makes batches of views the piece, without a copy. False if they are none,
  // or are too small: the caller appends them.
  bool TakeBatches(const BlockProgram::Output& batches);
  // Names the rows that a program kept, of positions from p on.
  void NameRows(const BlockProgram::Output& rows, uint64_t p);
  // Drops all rows.
  void Clear() { builder = ChunkBuilder(program_.output, scratch_.blocks); }
  Chunk Finish() &&;

  // Ends the piece before the element at `at`, which cannot be made.
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
  // Reads parts that are appended while they are in the cache.
  bool appends = false;
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

 private:
  // True if rows may be views that pass no step, and so cost nothing each.
  bool has_free_rows() const {
    return scratch_.block.view_bytes_max > 0 && program_.records->empty();
  }
  bool TakeRecords(bool last);
  void KeepPlaced();

  const StageProgram& program_;
  StageScratch& scratch_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PIECE_DRAFT_H_
