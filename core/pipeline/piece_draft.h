#ifndef FEEDMILL_CORE_PIPELINE_PIECE_DRAFT_H_
#define FEEDMILL_CORE_PIPELINE_PIECE_DRAFT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/chunk/cursor.h"
#include "core/pipeline/row_sink.h"
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
// it.
struct PieceDraft : BadRow {
  // The piece begins at `from`, ends at `to` at the latest, and has about
  // `target` bytes.
  PieceDraft(const StageProgram& program, StageScratch& scratch, Cursor from,
             Cursor to, size_t target)
      : sink(program, scratch, to.p - from.p, target),
        begin(from),
        end(to),
        limit(to),
        bytes_target(target),
        program_(program),
        scratch_(scratch) {}

  // Number of bytes to read for the rest of the piece.
  size_t BytesAhead() const {
    if (full()) return 1;
    const size_t left = bytes_target - sink.bytes();
    if (!program_.appends) return std::min(read_bytes, left);
    // Records are a little larger than the rows made of them, and the number of
    // rows is bounded, too.
    const size_t most = left + left / 8;
    return most <= read_bytes + read_bytes / 4 ? most : read_bytes;
  }
  bool full() const { return sink.closed() || sink.bytes() >= bytes_target; }
  // True if the piece ends once it has an element or completes a position.
  bool due() const { return full() || scratch_.source->due(); }

  // Returns how many records to read for the rest of the piece, at most `left`.
  size_t RowsAhead(uint64_t left) const;

  // Adds the record program's output, made of positions from p on. `last`: the
  // piece ends with these rows.
  void AddRecords(uint64_t p, bool last);
  // Names the rows that a program kept, of positions from p on.
  void NameRows(const BlockProgram::Output& rows, uint64_t p);

  // Ends the piece before the element at `at`, which cannot be made.
  void Fail(Cursor at, BadRow why, RecordRef ref, uint64_t row = 0) {
    sink.copied().DropUnfinished();
    SetBad(std::move(why));
    end = at;
    failed = true;
    failed_ref = ref;
    failed_row = row;
  }
  // The same for an element that a step of a program cannot make.
  void FailStep(Cursor at, const BlockProgram::Output& out, RecordRef ref,
                uint64_t row) {
    Fail(at,
         {.error = program_.AtRecord(out.error, out.failed_step, ref, row),
          .failed_after = out.failed_step + 1},
         ref, row);
  }

  RowSink sink;
  const Cursor begin;
  Cursor end;
  Cursor limit;  // end of the requested interval
  const size_t bytes_target;
  size_t read_bytes = kReadBytes;
  std::vector<uint8_t> bits;    // if filters may drop positions
  std::vector<CursorRun> runs;  // if positions make several elements
  bool failed = false;
  RecordRef failed_ref;
  uint64_t failed_row = 0;  // within its block

 private:
  const StageProgram& program_;
  StageScratch& scratch_;
};

// Each of these adds rows until the draft is full, its interval ends, or an
// element cannot be made. A returned error concerns this machine only.
// Positions are one record each, batches of records, or blocks of an uncounted
// source.
absl::Status MakeFromRecords(const StageProgram& program, StageScratch& scratch,
                             PieceDraft& draft);
absl::Status MakeFromBatches(const StageProgram& program, StageScratch& scratch,
                             PieceDraft& draft);
absl::Status MakeFromBlocks(const StageProgram& program, StageScratch& scratch,
                            PieceDraft& draft);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PIECE_DRAFT_H_
