#ifndef FEEDMILL_CORE_PIPELINE_STAGE_PROGRAM_H_
#define FEEDMILL_CORE_PIPELINE_STAGE_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/block_program.h"
#include "core/pipeline/stage_input.h"
#include "core/plan/plan.h"
#include "core/sources/origins.h"

namespace feedmill {

// The compiled parts of a worker stage: its input, the programs of its steps,
// and facts that follow from them. Immutable once compiled; any thread. A copy
// shares the parts.
struct StageProgram {
  // The form in which a piece names its rows (Piece::cursors).
  enum class Naming { kDense, kBitmap, kRuns };

  static absl::StatusOr<std::shared_ptr<const StageProgram>> Compile(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const Manifest> manifest, const StageContext& context);

  // True if making a row takes microseconds or more.
  bool rows_heavy() const;
  // Adds the record and the step to an error.
  absl::Status AtRecord(const absl::Status& status, size_t step,
                        const RecordRef& ref, uint64_t row) const;

  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const StageInput> source;
  size_t source_place = 0;  // index in a profile
  // The last step that makes rows, if any.
  std::optional<size_t> last_step;
  std::shared_ptr<const OriginFinder> origins;  // null: on_error skips nothing
  std::shared_ptr<const BlockProgram> records;  // the steps on single records
  // The steps after a batch; null: no batches.
  std::shared_ptr<const BlockProgram> batches;
  std::shared_ptr<const BatchStacker> stacker;  // null: no batches
  size_t batch_step = 0;      // index of the plan's batch, if any
  uint64_t record_bytes = 1;  // least bytes of a record of a batch
  std::shared_ptr<const ElementSpec> output;
  std::shared_ptr<const ElementSpec> record_spec;    // before the batch
  std::shared_ptr<const ElementSpec> gathered_spec;  // not written in place
  std::vector<bool> gathered;                        // by component
  Naming naming = Naming::kDense;
  bool places = false;   // `records` writes all columns in place
  bool appends = false;  // `records` appends to all columns
  bool covered = false;  // StageContext::covered

  // Estimates; see WorkerStage.
  size_t estimated_bytes = 0;
  uint64_t together = 1;
  size_t together_bytes = 0;  // source bytes of `together` positions
  bool heavy = false;
  size_t ahead_bytes = std::numeric_limits<size_t>::max();

 private:
  absl::Status CompileBatches(
      size_t step, const std::vector<size_t>& after,
      const std::shared_ptr<const FunctionRegistry>& registry);
  void ChooseForms(bool skips);
  void Estimate(const Manifest& manifest);
};

// Bytes of one row. REQUIRES: the shape is static.
size_t StaticBytes(const ComponentSpec& component);
// True if all rows have one known size.
bool InPlace(const ComponentSpec& component);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STAGE_PROGRAM_H_
