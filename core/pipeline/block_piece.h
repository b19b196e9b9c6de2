#ifndef FEEDMILL_CORE_PIPELINE_BLOCK_PIECE_H_
#define FEEDMILL_CORE_PIPELINE_BLOCK_PIECE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "core/pipeline/piece_draft.h"
#include "core/pipeline/record_reading.h"
#include "core/pipeline/record_steps.h"
#include "core/pipeline/stage_program.h"
#include "core/pipeline/stage_scratch.h"

namespace feedmill {

// Makes a piece of positions that are blocks of an uncounted source.
class BlockPiece {
 public:
  BlockPiece(const StageProgram& program, PieceDraft& draft,
             StageScratch& scratch)
      : program_(program),
        draft_(draft),
        scratch_(scratch),
        reading_(program, scratch),
        steps_(program, scratch) {}

  // Adds rows until the draft is full, its interval ends, or an element cannot
  // be made. A returned error concerns this machine only.
  absl::Status Run() const;

 private:
  absl::Status RunBlock(uint64_t last, bool& more, Cursor& at) const;

  const StageProgram& program_;
  PieceDraft& draft_;
  StageScratch& scratch_;
  const RecordReading reading_;
  const RecordSteps steps_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BLOCK_PIECE_H_
