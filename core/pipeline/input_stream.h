#ifndef FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_
#define FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/cursor.h"
#include "core/chunk/skipped_element.h"
#include "core/dataset/analysis.h"
#include "core/io/manifest.h"
#include "core/pipeline/piece_maker.h"
#include "core/pipeline/piece_source.h"
#include "core/pipeline/sequence_reader.h"
#include "core/pipeline/stage_input.h"
#include "core/pipeline/stream_places.h"
#include "core/pipeline/worker_stage.h"
#include "feedmill/element.h"

namespace feedmill {

// True if a generator makes elements of the pipeline.
bool HasGenerator(const AnalyzedGraph& graph);
// True if a source of the pipeline is streamed (SourceTraits::streamed).
bool HasStreams(const AnalyzedGraph& graph);

// Reads a pipeline that is an input of another pipeline's source, in order from
// its first element or from a place. Its client steps run on the calling
// thread, and so do all its steps unless StageContext::threads make elements
// ahead. Holds one chunk, the rows that its steps hold, and the elements that
// were made ahead. Not thread-safe.
class InputStream {
 public:
  // A Status that a function returns is an error of this machine, or
  // InvalidArgument as of Plan::Make. `place`: continues there; InvalidArgument
  // if it does not fit the steps. `holds_rows`: place() may be one at which the
  // client steps hold rows. `inputs`: number of inputs of the source; each has
  // its part of the time of a piece, and of the memory for elements that are
  // made ahead.
  static absl::StatusOr<std::unique_ptr<InputStream>> Make(
      const std::shared_ptr<const AnalyzedGraph>& graph,
      std::shared_ptr<const Manifest> manifest, const StageContext& context,
      uint64_t seed, uint64_t iteration, bool holds_rows, size_t inputs,
      const std::optional<StreamPlace>& place = {});

  // `work`: called while the next elements are made by other threads. It does
  // some work, or returns false.
  void WorkWhileWaiting(std::function<bool()> work) { work_ = std::move(work); }
  // Lets other workers make the elements from at() on. An error of theirs is
  // none: then this stream makes them itself, as with null. `outer`: elements
  // that they leave out were left out by an on_error around this pipeline.
  void ReadElsewhere(std::unique_ptr<PieceSource> source, bool outer);
  // True after ReadElsewhere.
  bool moved() const { return moved_; }
  // Positions before it are made.
  Cursor at() const { return at_; }
  // Lets other threads begin to make elements ahead, if they do so at all.
  void Begin();
  // Makes elements ahead on this thread. False: there are none to make now.
  bool Help() { return maker_ != nullptr && maker_->Help(); }

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
  const StreamPlace& place() const { return place_; }

  // Number of positions to announce ahead of those that are made; 0 if it saves
  // no time.
  uint64_t positions_ahead() const { return positions_ahead_; }
  // Announces the next `count` positions. Look continues to do so.
  // Returns the number of positions, which is smaller at the end.
  uint64_t Announce(uint64_t count);

 private:
  InputStream(std::shared_ptr<const WorkerStage> stage,
              std::unique_ptr<SequenceReader> sequence, bool holds_rows);
  void MakeAhead(std::shared_ptr<StreamThreads> threads, size_t inputs);
  void StopMaking();
  absl::StatusOr<std::optional<Piece>> NextPiece();
  absl::StatusOr<std::optional<Piece>> TakeElsewhere();
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
  const bool holds_rows_;
  const size_t piece_bytes_;
  const uint64_t positions_ahead_;
  std::optional<PieceMaker::Options> ahead_;  // other threads may help
  std::unique_ptr<PieceMaker> maker_;         // null: they do not, or not yet
  bool first_made_ = false;                   // this thread made a piece
  std::unique_ptr<PieceSource> elsewhere_;    // null: made in this process
  bool outer_ = false;
  bool moved_ = false;
  std::function<bool()> work_;
  uint64_t announced_ = 0;       // earlier positions were announced
  uint64_t announce_count_ = 0;  // of the last Announce
  Cursor at_;                    // positions before it are made
  StreamPlace place_;
  Chunk chunk_;
  size_t row_ = 0;
  std::optional<SkippedElement> skipped_;  // comes after the ready outputs
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_INPUT_STREAM_H_
