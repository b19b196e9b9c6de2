#include "core/pipeline/record_piece.h"

#include <algorithm>
#include <limits>

#include "core/base/byte_budget.h"
#include "core/base/status.h"

namespace feedmill {

absl::Status RecordPiece::Run() const {
  uint64_t p = draft_.begin.p;
  const size_t most =
      program_.records->heavy()
          ? std::min(program_.records->rows_together(), RowsTogether::Max())
          : std::numeric_limits<size_t>::max();
  bool first = true;
  while (p < draft_.end.p && (first || !draft_.full())) {
    first = false;
    scratch_.at = {p, 0};
    const size_t ahead = draft_.full() ? 1 : draft_.RowsAhead(draft_.end.p - p);
    reading_.Ask(p, p + ahead);
    FM_ASSIGN_OR_RETURN(const size_t read,
                        reading_.ReadAhead(0, draft_.BytesAhead()));
    reading_.SetNames(p, 0, read);
    size_t step = 0;
    size_t row = 0;
    for (; row < read && (row == 0 || !draft_.full()); row += step) {
      step = std::min(most, read - row);
      scratch_.at = {p + row, 0};
      if (most == 1 && scratch_.block.dropped && !scratch_.block.Has(row)) {
        continue;
      }
      draft_.sink.Prepare(step);
      steps_.Run(row, step);
      draft_.AddRecords(p + row, p + row + step == draft_.end.p);
      const BlockProgram::Output& out = scratch_.records_out;
      if (out.error.ok()) continue;
      const size_t bad = row + out.failed_row;
      draft_.Fail(
          {p + bad, 0},
          program_.AtRecord(out.error, out.failed_step, scratch_.RefAt(bad), 0),
          out.failed_step + 1, scratch_.RefAt(bad));
      return absl::OkStatus();
    }
    p += row;
    if (row == read && !scratch_.block.error.ok()) {
      draft_.Fail({p, 0}, scratch_.block.error, scratch_.block.failed_after,
                  scratch_.RefAt(row));
      return absl::OkStatus();
    }
  }
  draft_.end = {p, 0};
  return absl::OkStatus();
}

}  // namespace feedmill
