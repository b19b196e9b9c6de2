#ifndef FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_
#define FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/chunk.h"
#include "core/pipeline/client_stage.h"
#include "core/pipeline/endless_watch.h"
#include "core/pipeline/stage_input.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "core/sources/manifest.h"

namespace feedmill {

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

  // Makes elements until there is one to take. False: none comes, for error()
  // or, if that is OK, because it ends.
  absl::StatusOr<bool> Look();
  // The elements that are ready are rows [row(), chunk().rows).
  const Chunk& chunk() const { return chunk_; }
  size_t row() const { return row_; }
  size_t left() const { return chunk_.rows - row_; }
  void Take(size_t count) { row_ += count; }

  const absl::Status& error() const { return error_; }

 private:
  InputStream(std::shared_ptr<const Plan> plan,
              std::shared_ptr<const WorkerStage> stage,
              std::unique_ptr<ClientStage> client);
  absl::Status MakeMore();
  void Ready(Chunk made);
  size_t PopOutputs();

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const WorkerStage> stage_;
  const std::unique_ptr<WorkerStage::Scratch> scratch_;
  const std::unique_ptr<ClientStage> client_;  // null: no client steps
  EndlessWatch watch_;
  // Of what its last step makes: what the whole needs.
  std::vector<size_t> columns_;
  Cursor at_;  // the first that was not made
  std::deque<Chunk> ready_;
  Chunk chunk_;
  size_t row_ = 0;
  bool ended_ = false;
  absl::Status error_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_
