#include <algorithm>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/piece_draft.h"
#include "core/pipeline/record_reading.h"

namespace feedmill {
namespace {

// Appends a run; merges it with the last run if it continues that run.
void AddRun(const CursorRun& run, std::vector<CursorRun>& runs) {
  if (!runs.empty() && runs.back().p == run.p &&
      runs.back().i + runs.back().count == run.i) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

// Most rows read for one piece if no time ends it.
constexpr uint64_t kSeenMax = uint64_t{1} << 20;

class BlockPiece {
 public:
  BlockPiece(const StageProgram& program, StageScratch& scratch,
             PieceDraft& draft)
      : program_(program),
        draft_(draft),
        scratch_(scratch),
        reading_(program, scratch) {}

  absl::Status Run() const;

 private:
  absl::Status RunBlock(uint64_t last, bool& more, Cursor& at) const;

  const StageProgram& program_;
  PieceDraft& draft_;
  StageScratch& scratch_;
  const RecordReading reading_;
};

absl::Status BlockPiece::Run() const {
  const Cursor end = draft_.end;
  Cursor at = draft_.begin;
  // A position may be infinite, and must not occupy a thread for ever even if
  // filters drop all its rows.
  uint64_t seen = 0;
  const auto ends = [&] {
    return draft_.begin < at && (draft_.due() || seen >= kSeenMax);
  };
  while (at < end && !ends()) {
    scratch_.refs.clear();
    program_.plan->Records(at.p, at.p + 1, scratch_.refs);
    const uint64_t last = at.p == end.p ? end.i : kInfinite;
    bool more = true;
    while (more && at.i < last && !ends() && !draft_.failed) {
      scratch_.at = at;
      FM_ASSIGN_OR_RETURN(more, reading_.ReadBlock(at.i, draft_.BytesAhead()));
      const uint64_t before = at.i;
      FM_RETURN_IF_ERROR(RunBlock(last, more, at));
      seen += at.i - before;
    }
    if (draft_.failed) return absl::OkStatus();
    if (more && at.i < last) break;  // the piece is full
    at = at.p == end.p ? end : Cursor{at.p + 1, 0};
  }
  draft_.end = at;
  return absl::OkStatus();
}

// Runs the rows of the block, which begin at `at`, through the steps until the
// piece is full, and advances `at`. `more`: the block continues after them.
absl::Status BlockPiece::RunBlock(uint64_t last, bool& more, Cursor& at) const {
  const auto rows =
      static_cast<size_t>(std::min<uint64_t>(scratch_.block.rows, last - at.i));
  scratch_.counters.clear();
  scratch_.passes.clear();
  if (program_.records->random()) {
    const InputBlock& block = scratch_.block;
    const size_t there = block.dropped ? block.origins.size() : block.rows;
    for (size_t k = 0; k < there; ++k) {
      const size_t row = block.dropped ? block.origins[k] : k;
      scratch_.counters.push_back({at.p, at.i + row});
      scratch_.passes.push_back(scratch_.refs[0].pass);
    }
  }
  const uint64_t base = at.i;
  size_t step = 0;
  size_t row = 0;
  for (; row < rows && (row == 0 || !draft_.due()); row += step) {
    step = reading_.RowsTogether(rows - row);
    if (step == 1 && scratch_.block.dropped && !scratch_.block.Has(row)) {
      continue;
    }
    scratch_.at = {at.p, base + row};
    draft_.sink.Prepare(step);
    FM_RETURN_IF_ERROR(reading_.RunSteps(row, step));
    const BlockProgram::Output& out = scratch_.records_out;
    const bool all = row + step >= rows;
    draft_.AddRecords(at.p, all && Cursor{at.p, base + rows} == draft_.end);
    if (!out.dropped && out.rows > 0) {
      AddRun({at.p, base + row, out.rows}, draft_.runs);
    }
    for (size_t k = 0; out.dropped && k < out.rows; ++k) {
      AddRun({at.p, base + row + out.origins[k], 1}, draft_.runs);
    }
    if (out.error.ok()) continue;
    const uint64_t bad = base + row + out.failed_row;
    draft_.FailStep({at.p, bad}, out, scratch_.refs[0], bad);
    return absl::OkStatus();
  }
  at.i = base + row;
  if (row < scratch_.block.rows) {
    more = true;
  } else if (!scratch_.block.error.ok() && at.i < last) {
    draft_.Fail(at, scratch_.block, scratch_.refs[0], at.i);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeFromBlocks(const StageProgram& program, StageScratch& scratch,
                            PieceDraft& draft) {
  return BlockPiece(program, scratch, draft).Run();
}

}  // namespace feedmill
