#ifndef FEEDMILL_CORE_PIPELINE_BATCH_PIECE_H_
#define FEEDMILL_CORE_PIPELINE_BATCH_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/pipeline/piece_draft.h"
#include "core/pipeline/record_reading.h"
#include "core/pipeline/record_steps.h"
#include "core/pipeline/stage_program.h"
#include "core/pipeline/stage_scratch.h"

namespace feedmill {

// Makes a piece of positions that are batches of records.
class BatchPiece {
 public:
  BatchPiece(const StageProgram& program, PieceDraft& draft,
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
  // Destinations of the records of one batch, by component.
  struct BatchTargets {
    std::vector<std::byte*> in_place;  // null: use `gathered`
    std::vector<size_t> row_bytes;
    std::unique_ptr<ChunkBuilder> gathered;
  };

  size_t BatchesTogether(uint64_t p, uint64_t records, bool alone) const;
  // Runs one or more whole batches that fit into one block. Returns false if
  // they do not fit or if one of them fails; then each batch has to be made
  // alone.
  absl::StatusOr<bool> RunBlockOfBatches(uint64_t p, size_t batches,
                                         uint64_t records) const;
  absl::Status RunOneBatch(uint64_t p, uint64_t records) const;
  BatchTargets TargetsOfBatch(uint64_t records) const;
  void AppendToBatch(size_t at, const BatchTargets& targets) const;
  absl::Status StackGathered(const Chunk& gathered, size_t records,
                             std::vector<Column>& out) const;
  bool FinishBatch(uint64_t p, uint64_t records, BatchTargets& targets) const;
  void FinishBatches(uint64_t p, size_t batches) const;
  // Ends the piece before the batch at position p, which is too large.
  void FailBatch(uint64_t p, const absl::Status& status) const;

  const StageProgram& program_;
  PieceDraft& draft_;
  StageScratch& scratch_;
  const RecordReading reading_;
  const RecordSteps steps_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BATCH_PIECE_H_
