#ifndef FEEDMILL_CORE_PIPELINE_RECORD_PIECE_H_
#define FEEDMILL_CORE_PIPELINE_RECORD_PIECE_H_

#include "absl/status/status.h"
#include "core/pipeline/piece_draft.h"
#include "core/pipeline/record_reading.h"
#include "core/pipeline/record_steps.h"
#include "core/pipeline/stage_program.h"
#include "core/pipeline/stage_scratch.h"

namespace feedmill {

// Makes a piece of positions that are one record each.
class RecordPiece {
 public:
  RecordPiece(const StageProgram& program, PieceDraft& draft,
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
  const StageProgram& program_;
  PieceDraft& draft_;
  StageScratch& scratch_;
  const RecordReading reading_;
  const RecordSteps steps_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_RECORD_PIECE_H_
