#ifndef FEEDMILL_CORE_CHUNK_PIECE_H_
#define FEEDMILL_CORE_CHUNK_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/cursor.h"
#include "core/chunk/generator_state.h"
#include "core/chunk/share.h"
#include "core/chunk/skipped_element.h"
#include "feedmill/element.h"

namespace feedmill {

// A chunk slice with its names: the elements of cursors [begin, end).
struct Piece {
  Cursor begin;
  Cursor end;
  RowCursors cursors = DenseRows{};
  Chunk chunk;  // has no rows if all were filtered out
  // Not OK if making the element at `end` failed for a reason that depends on
  // the data only. The sequence stops there; the rows are good.
  absl::Status error;
  // Set if the last element of the interval was skipped. Then `end` is the
  // first cursor after this element and after all elements lost with it.
  std::optional<SkippedElement> skipped{};
  // A generator's state that leads to `end`, or null.
  GeneratorStatePtr state{};

  // Returns the elements at or after `from`. REQUIRES: begin <= from < end, or
  // from == end for an empty piece.
  Piece From(Cursor from) const;
  // Returns the first `rows` rows, without the error. REQUIRES: there are more.
  Piece First(size_t rows) const;
  // For a piece of a sequence whose element n is row n of position 0: returns a
  // piece with the elements of `share` only. A piece that ends the sequence
  // stays whole, because its last row tells how many elements there are.
  // REQUIRES: the rows follow each other.
  Piece OfShare(Share share) const;
  // Same, in two steps that copy each row once, however many ranks there are.
  // ByRank orders the rows by their rank; OfShareByRank returns a part of such
  // a piece, which shares its memory. Both change nothing of a piece that ends
  // the sequence. `blocks`: source of the memory, or null.
  Piece ByRank(uint64_t ranks, std::shared_ptr<BlockSource> blocks) const;
  Piece OfShareByRank(Share share) const;
  // For such a piece: the number of elements up to its end.
  uint64_t ElementsReached() const;
  Cursor CursorOf(size_t row) const { return CursorOfRow(cursors, begin, row); }
  // Runs Chunk::Validate and checks that the rows' cursors lie in [begin, end).
  // For pieces from the network.
  absl::Status Validate() const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_PIECE_H_
