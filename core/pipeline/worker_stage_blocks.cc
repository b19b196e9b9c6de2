// The worker stage over uncounted sources: a position is a block of records.
#include <algorithm>

#include "core/base/status.h"
#include "core/pipeline/compiled_stage.h"

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

// Most rows read for one piece, even if filters drop all of them. A position
// may be infinite, and must not occupy a thread for ever.
constexpr uint64_t kSeenMax = uint64_t{1} << 20;

}  // namespace

absl::Status CompiledStage::RunBlocks(Making& making,
                                      StageScratch& scratch) const {
  const Cursor end = making.end;
  Cursor at = making.begin;
  bool first = true;
  uint64_t seen = 0;
  const auto full = [&] { return making.full() || seen >= kSeenMax; };
  while (at < end && (first || !full())) {
    first = false;
    scratch.refs.clear();
    plan_->Records(at.p, at.p + 1, scratch.refs);
    const uint64_t last = at.p == end.p ? end.i : kEndless;
    bool more = true;
    while (more && at.i < last && !full() && !making.failed) {
      scratch.at = at;
      FM_ASSIGN_OR_RETURN(more, ReadBlock(at.i, making.BytesAhead(), scratch));
      const uint64_t before = at.i;
      FM_RETURN_IF_ERROR(RunBlock(last, more, at, making, scratch));
      seen += at.i - before;
    }
    if (making.failed) return absl::OkStatus();
    if (more && at.i < last) break;  // the piece is full
    at = at.p == end.p ? end : Cursor{at.p + 1, 0};
  }
  making.end = at;
  return absl::OkStatus();
}

// Runs the rows of the block, which begin at `at`, through the steps until the
// piece is full, and advances `at`. `more`: the block continues after them.
absl::Status CompiledStage::RunBlock(uint64_t last, bool& more, Cursor& at,
                                     Making& making,
                                     StageScratch& scratch) const {
  const auto rows =
      static_cast<size_t>(std::min<uint64_t>(scratch.block.rows, last - at.i));
  scratch.counters.clear();
  scratch.passes.clear();
  if (record_program_->random()) {
    const InputBlock& block = scratch.block;
    const size_t there = block.dropped ? block.origins.size() : block.rows;
    for (size_t k = 0; k < there; ++k) {
      const size_t row = block.dropped ? block.origins[k] : k;
      scratch.counters.push_back({at.p, at.i + row});
      scratch.passes.push_back(scratch.refs[0].pass);
    }
  }
  const uint64_t base = at.i;
  const size_t step = record_program_->heavy() ? 1
                      : record_program_->empty()
                          ? std::clamp<size_t>(rows, 1, RowsTogether::Max())
                          : std::min(kBlockRows, RowsTogether::Max());
  size_t row = 0;
  for (; row < rows && (row == 0 || !making.full()); row += step) {
    if (step == 1 && scratch.block.dropped && !scratch.block.Has(row)) {
      continue;
    }
    scratch.at = {at.p, base + row};
    ReserveDirect(std::min(step, rows - row), making, scratch);
    RunProgram(row, std::min(step, rows - row), scratch);
    const BlockProgram::Output& out = scratch.records_out;
    const bool all = row + step >= rows;
    AppendRecords(at.p, all && Cursor{at.p, base + rows} == making.end, making,
                  scratch);
    if (!out.dropped && out.rows > 0) {
      AddRun({at.p, base + row, out.rows}, making.runs);
    }
    for (size_t k = 0; out.dropped && k < out.rows; ++k) {
      AddRun({at.p, base + row + out.origins[k], 1}, making.runs);
    }
    if (out.error.ok()) continue;
    const uint64_t bad = base + row + out.failed_row;
    making.Fail({at.p, bad},
                AtRecord(out.error, out.failed_step, scratch.refs[0], bad),
                out.failed_step + 1, scratch.refs[0], bad);
    return absl::OkStatus();
  }
  const size_t done = std::min(row, rows);
  at.i = base + done;
  if (done < scratch.block.rows) {
    more = true;
  } else if (!scratch.block.error.ok() && at.i < last) {
    making.Fail(at, scratch.block.error, scratch.block.failed_after,
                scratch.refs[0], at.i);
    making.ends_block = scratch.block.ends_block;
    making.left_out = scratch.block.left_out;
    making.failed_records = scratch.block.failed_records;
  }
  return absl::OkStatus();
}

}  // namespace feedmill
