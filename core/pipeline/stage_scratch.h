#ifndef FEEDMILL_CORE_PIPELINE_STAGE_SCRATCH_H_
#define FEEDMILL_CORE_PIPELINE_STAGE_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/pipeline/block_program.h"
#include "core/pipeline/row_pace.h"
#include "core/pipeline/stage_input.h"
#include "core/pipeline/worker_stage.h"

namespace feedmill {

// Memory that one thread reuses from piece to piece: the state of a worker
// stage's parts, and the rows that they pass to each other.
struct StageScratch final : WorkerStage::Scratch {
  std::unique_ptr<StageInput::Scratch> source;
  InputBlock block;
  // Largest piece of rows in a mapped file; 0: pieces are copies of them.
  size_t view_bytes_max = 0;
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

  // Cursor of the current element, and rows_max of the next run. This number
  // shrinks when rows exceed the ByteBudget together.
  Cursor at;
  size_t rows_together = std::numeric_limits<size_t>::max();

  RowPace pace;          // of slow record steps
  double row_bytes = 0;  // average of the output so far, for reading ahead
  std::vector<size_t> appended;  // bytes of each column of the last chunk
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STAGE_SCRATCH_H_
