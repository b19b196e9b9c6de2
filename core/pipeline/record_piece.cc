#include <algorithm>

#include "core/base/status.h"
#include "core/pipeline/piece_draft.h"
#include "core/pipeline/record_reading.h"

namespace feedmill {

absl::Status MakeFromRecords(const StageProgram& program, StageScratch& scratch,
                             PieceDraft& draft) {
  const RecordReading reading(program, scratch);
  uint64_t p = draft.begin.p;
  const bool heavy = program.records->heavy();
  const uint64_t begin = p;
  while (p < draft.end.p && (p == begin || !draft.due())) {
    scratch.at = {p, 0};
    const size_t ahead = draft.full() ? 1 : draft.RowsAhead(draft.end.p - p);
    reading.Ask(p, p + ahead);
    FM_ASSIGN_OR_RETURN(const size_t read,
                        reading.ReadAhead(0, draft.BytesAhead()));
    reading.SetNames(p, 0, read);
    size_t step = 0;
    size_t row = 0;
    for (; row < read && (row == 0 || !draft.due()); row += step) {
      step = heavy ? reading.RowsTogether(read - row) : read - row;
      scratch.at = {p + row, 0};
      if (step == 1 && scratch.block.dropped && !scratch.block.Has(row)) {
        continue;
      }
      draft.sink.Prepare(step);
      FM_RETURN_IF_ERROR(reading.RunSteps(row, step));
      draft.AddRecords(p + row, p + row + step == draft.end.p);
      const BlockProgram::Output& out = scratch.records_out;
      if (out.error.ok()) continue;
      const size_t bad = row + out.failed_row;
      draft.FailStep({p + bad, 0}, out, scratch.RefAt(bad), 0);
      return absl::OkStatus();
    }
    p += row;
    if (row == read && !scratch.block.error.ok()) {
      draft.Fail({p, 0}, scratch.block, scratch.RefAt(row));
      return absl::OkStatus();
    }
  }
  draft.end = {p, 0};
  return absl::OkStatus();
}

}  // namespace feedmill
