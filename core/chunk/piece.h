#ifndef FEEDMILL_CORE_CHUNK_PIECE_H_
#define FEEDMILL_CORE_CHUNK_PIECE_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "core/chunk/cursor.h"
#include "core/chunk/skipped_element.h"
#include "feedmill/chunk.h"

namespace feedmill {

// A chunk with its names: the elements of cursors [begin, end).
struct Piece {
  Cursor begin;
  Cursor end;
  RowCursors cursors = DenseRows{};
  Chunk chunk;  // may have no rows: all were filtered out
  // Not OK: making the element at `end` failed, for a reason that is a
  // function of the data. The sequence stops there; the rows are good.
  absl::Status error;
  // The last element of the interval is left out; `end` is the first cursor
  // after it, and after all that is lost with it.
  std::optional<SkippedElement> skipped{};

  // The part at or after `from`. REQUIRES: begin <= from < end (or == end for
  // an empty rest).
  Piece From(Cursor from) const;
  Cursor CursorOf(size_t row) const { return CursorOfRow(cursors, begin, row); }
  // Chunk::Validate, and that the rows' cursors lie in [begin, end). For
  // pieces that came over a wire.
  absl::Status Validate() const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_PIECE_H_
