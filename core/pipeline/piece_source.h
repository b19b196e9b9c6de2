#ifndef FEEDMILL_CORE_PIPELINE_PIECE_SOURCE_H_
#define FEEDMILL_CORE_PIPELINE_PIECE_SOURCE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/chunk/piece.h"

namespace feedmill {

// The pieces of a sequence, which a SequenceReader accepts.
class PieceSource {
 public:
  enum class TakeResult {
    kPiece,
    // Positions [piece.begin, piece.end) were taken and have no elements.
    kPassed,
    // Readers share the job: more pieces come only if another reader ends.
    kIdle,
    // Readers share the job: the pieces taken so far, whose elements were not
    // handed out, belong to another reader.
    kLost,
    kEnd,
    kTimedOut,
  };

  virtual ~PieceSource() = default;
  // Takes the next piece; waits for it until `deadline` (absl::Now). A Status
  // ends the sequence: it is no error of the data, and comes after the pieces
  // before it.
  virtual absl::StatusOr<TakeResult> Take(absl::Time deadline,
                                          Piece& piece) = 0;
  // Positions before `position` cannot change the output any more: they are not
  // needed, and an error among them does not end the pieces. REQUIRES:
  // `position` is beyond the last piece.
  virtual void SkipTo(uint64_t position) = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PIECE_SOURCE_H_
