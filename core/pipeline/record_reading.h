#ifndef FEEDMILL_CORE_PIPELINE_RECORD_READING_H_
#define FEEDMILL_CORE_PIPELINE_RECORD_READING_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "core/base/byte_budget.h"
#include "core/pipeline/stage_program.h"
#include "core/pipeline/stage_scratch.h"

namespace feedmill {

// Reads the records of positions into scratch.block, and runs the steps on
// single records. Every function works on the scratch of one thread.
class RecordReading {
 public:
  RecordReading(const StageProgram& program, StageScratch& scratch)
      : program_(program), scratch_(scratch) {}

  // Requests the records of positions [begin, end): a run if all of them are
  // consecutive, otherwise a list.
  void Ask(uint64_t begin, uint64_t end) const;
  // Reads requested records from index `from` on, in one read of about `bytes`.
  // Returns their number.
  absl::StatusOr<size_t> ReadAhead(size_t from, size_t bytes) const;
  // Sets the counters, for random steps, of requested records [from, from +
  // count). The request begins at position p.
  void SetNames(uint64_t p, size_t from, size_t count) const;
  // Reads more of the block that scratch.refs requests, from its row `row` on.
  // Returns true if the block continues after what was read.
  absl::StatusOr<bool> ReadBlock(uint64_t row, size_t bytes) const;
  // Runs rows [first, first + count) of the block through the steps. The output
  // is scratch.records_out. REQUIRES: records_in.direct, counters and passes
  // are set.
  // Cancelled if a ReadStop of this thread stops.
  absl::Status RunSteps(size_t first, size_t count) const;
  // Returns how many of `left` rows the next RunSteps should have, so that a
  // piece of slow rows can end soon.
  size_t RowsTogether(size_t left) const;

 private:
  void RunRows(size_t first, size_t count) const;
  void AskRun(uint64_t begin, uint64_t end) const;
  absl::StatusOr<size_t> ReadRecords(size_t from, size_t bytes) const;
  absl::Status MakePlain() const;
  void Widen(size_t first, size_t count, size_t begin) const;
  void FailReading(const MemoryRefused& refused, const RecordRef& ref,
                   uint64_t row) const;

  const StageProgram& program_;
  StageScratch& scratch_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_RECORD_READING_H_
