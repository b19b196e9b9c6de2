#ifndef FEEDMILL_CORE_CHUNK_PIECE_H_
#define FEEDMILL_CORE_CHUNK_PIECE_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "core/chunk/cursor.h"
#include "core/chunk/generator_state.h"
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
  Cursor CursorOf(size_t row) const { return CursorOfRow(cursors, begin, row); }
  // Runs Chunk::Validate and checks that the rows' cursors lie in [begin, end).
  // For pieces from the network.
  absl::Status Validate() const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_PIECE_H_
