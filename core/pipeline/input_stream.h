#ifndef FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_
#define FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/cursor.h"
#include "core/chunk/skipped_element.h"
#include "core/dataset/analysis.h"
#include "core/io/manifest.h"
#include "core/pipeline/sequence_reader.h"
#include "core/pipeline/stage_input.h"
#include "core/pipeline/stream_places.h"
#include "core/pipeline/worker_stage.h"
#include "feedmill/element.h"

namespace feedmill {

// Reads a pipeline that is an input of another pipeline's source, in order from
// its first element or from a place. All its steps run on the calling thread.
// Holds one chunk and the rows that its steps hold. Not thread-safe.
class InputStream {
 public:
  // A Status that a function returns is an error of this machine, or
  // InvalidArgument as of Plan::Make. `place`: continues there; InvalidArgument
  // if it does not fit the steps. `keeps_place`: place() works. It costs a copy
  // of the client steps' state for each piece. `piece_time`: Look makes slow
  // elements for about this time.
  static absl::StatusOr<std::unique_ptr<InputStream>> Make(
      const std::shared_ptr<const AnalyzedGraph>& graph,
      std::shared_ptr<const Manifest> manifest, const StageContext& context,
      uint64_t seed, uint64_t iteration, bool keeps_place,
      std::chrono::nanoseconds piece_time,
      const std::optional<StreamPlace>& place = {});

  enum class Next {
    kElement,  // rows [row(), chunk().rows) are ready
    kEnd,      // no element is left: because of error() or, if OK, at the end
    kBad,      // an element that an on_error of the whole pipeline leaves out
    kLeftOut,  // an element that this input left out; it must be counted
  };
  // Makes elements until the kind of the next one is known.
  absl::StatusOr<Next> Look();
  const Chunk& chunk() const { return chunk_; }
  size_t row() const { return row_; }
  size_t left() const { return chunk_.rows - row_; }
  void Take(size_t count) {
    row_ += count;
    place_.taken += count;
  }
  // Takes the element that was left out. REQUIRES: kBad or kLeftOut of Look.
  SkippedElement TakeSkipped();

  const absl::Status& error() const;

  // The last place from which all elements from the next one on can be made.
  // REQUIRES: keeps_place.
  const StreamPlace& place() const { return place_; }

  // Number of positions to announce ahead of those that are made; 0 if it saves
  // no time.
  uint64_t positions_ahead() const { return positions_ahead_; }
  // Announces the next `count` positions. Look continues to do so.
  // Returns the number of positions, which is smaller at the end.
  uint64_t Announce(uint64_t count);

 private:
  InputStream(std::shared_ptr<const WorkerStage> stage,
              std::unique_ptr<SequenceReader> sequence, bool keeps_place);
  absl::Status PassOver(uint64_t count);
  void NotePlace();
  uint64_t PositionsTogether() const;
  absl::Status Feed();
  bool PopChunk();

  const std::shared_ptr<const WorkerStage> stage_;
  const std::unique_ptr<WorkerStage::Scratch> scratch_;
  const std::unique_ptr<SequenceReader> sequence_;
  // Columns of the pipeline's output, among those that its last step makes.
  std::vector<size_t> columns_;
  const bool has_client_steps_;
  const bool keeps_place_;
  const size_t piece_bytes_;
  const uint64_t positions_ahead_;
  uint64_t announced_ = 0;       // earlier positions were announced
  uint64_t announce_count_ = 0;  // of the last Announce
  Cursor at_;                    // positions before it are made
  StreamPlace place_;
  Chunk chunk_;
  size_t row_ = 0;
  std::optional<SkippedElement> skipped_;  // comes after the ready outputs
  bool outer_ = false;  // skipped_ belongs to an on_error of the whole pipeline
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_
