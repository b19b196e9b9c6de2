#ifndef FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_
#define FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/cursor.h"
#include "core/chunk/skipped_element.h"
#include "core/dataset/analysis.h"
#include "core/io/manifest.h"
#include "core/pipeline/client_stage.h"
#include "core/pipeline/endless_watch.h"
#include "core/pipeline/stage_input.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "feedmill/chunk.h"

namespace feedmill {

class CompiledStage;

// The elements of a pipeline that is an input of another's source, in order
// from its first: all its steps, those of the client's stage too, on the
// thread that asks. Holds a chunk and what its steps hold. Not thread-safe.
class InputStream {
 public:
  // A returned Status, here and below,
  // is for this machine only, or InvalidArgument as of Plan::Make.
  static absl::StatusOr<std::unique_ptr<InputStream>> Make(
      const std::shared_ptr<const AnalyzedGraph>& graph,
      std::shared_ptr<const Manifest> manifest, const StageContext& context,
      uint64_t seed, uint64_t iteration);

  // What comes next.
  enum class Next {
    kElement,
    kEnd,      // nothing, for error() or, if that is OK, because it ends
    kBad,      // an element that an on_error of the whole leaves out
    kLeftOut,  // it was left out here: no element, but to be counted
  };
  // Makes elements until that is known.
  absl::StatusOr<Next> Look();
  // The elements that are ready are rows [row(), chunk().rows).
  const Chunk& chunk() const { return chunk_; }
  size_t row() const { return row_; }
  size_t left() const { return chunk_.rows - row_; }
  void Take(size_t count) { row_ += count; }
  // Of what is left out. REQUIRES: Look said kBad or kLeftOut.
  SkippedElement TakeSkipped();

  const absl::Status& error() const { return error_; }

 private:
  InputStream(std::shared_ptr<const Plan> plan, uint64_t source_round,
              std::shared_ptr<const CompiledStage> stage,
              std::unique_ptr<ClientStage> client);
  absl::Status MakeMore();
  void Ready(Chunk made);
  void SetAside(SkippedElement skipped, bool outer);
  size_t PopOutputs();

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const CompiledStage> stage_;
  const std::unique_ptr<WorkerStage::Scratch> scratch_;
  const std::unique_ptr<ClientStage> client_;  // null: no client steps
  EndlessWatch watch_;
  // Of what its last step makes: what the whole needs.
  std::vector<size_t> columns_;
  Cursor at_;  // the first that was not made
  struct Made {
    Chunk chunk;
    std::optional<SkippedElement> skipped;  // behind it
    bool outer = false;                     // by an on_error of the whole
  };
  std::deque<Made> ready_;
  Chunk chunk_;
  std::optional<SkippedElement> skipped_;  // behind chunk_
  bool outer_ = false;
  size_t row_ = 0;
  bool ended_ = false;
  absl::Status error_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_
