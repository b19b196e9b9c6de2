#ifndef FEEDMILL_CORE_PIPELINE_PIECE_SOURCE_H_
#define FEEDMILL_CORE_PIPELINE_PIECE_SOURCE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/chunk/piece.h"

namespace feedmill {

// The pieces of a sequence, from which a SequenceReader takes them.
class PieceSource {
 public:
  enum class TakeResult { kPiece, kEnd, kTimedOut };

  virtual ~PieceSource() = default;
  // Takes the next piece. A Status ends the sequence: it is no error of the
  // data, and comes after the pieces before it.
  virtual absl::StatusOr<TakeResult> Take(absl::Time deadline,
                                          Piece& piece) = 0;
  // Positions before `position` cannot change the output any more: they are not
  // needed, and an error among them does not end the pieces. REQUIRES:
  // `position` is beyond the last piece.
  virtual void SkipTo(uint64_t position) = 0;
  // No further piece can change the output.
  virtual void Stop() = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PIECE_SOURCE_H_
