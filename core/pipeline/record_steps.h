#ifndef FEEDMILL_CORE_PIPELINE_RECORD_STEPS_H_
#define FEEDMILL_CORE_PIPELINE_RECORD_STEPS_H_

#include <cstddef>

#include "core/pipeline/stage_program.h"
#include "core/pipeline/stage_scratch.h"

namespace feedmill {

// Runs rows of scratch.block through the steps on single records. The output is
// scratch.records_out.
class RecordSteps {
 public:
  RecordSteps(const StageProgram& program, StageScratch& scratch)
      : program_(program), scratch_(scratch) {}

  // Runs rows [first, first + count) of the block. REQUIRES: records_in.direct,
  // counters and passes are set.
  void Run(size_t first, size_t count) const;

 private:
  void Widen(size_t first, size_t count, size_t begin) const;

  const StageProgram& program_;
  StageScratch& scratch_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_RECORD_STEPS_H_
