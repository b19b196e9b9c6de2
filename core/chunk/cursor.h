#ifndef FEEDMILL_CORE_CHUNK_CURSOR_H_
#define FEEDMILL_CORE_CHUNK_CURSOR_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace feedmill {

// The name of an element: the i-th that plan position p produced.
// An interval of cursors is half open; {p, 0} is the start of position p.
struct Cursor {
  uint64_t p = 0;
  uint64_t i = 0;

  friend bool operator==(const Cursor&, const Cursor&) = default;
  friend auto operator<=>(const Cursor&, const Cursor&) = default;
};

// Which cursors the rows of a chunk have, relative to the interval
// [begin, end) that the chunk covers; a form for each shape of pipeline.
//
// Nothing was dropped, one element a position: row r is the r-th {p, 0} at or
// after begin, which is {begin.p + r, 0} where begin.i is 0.
struct DenseRows {
  friend bool operator==(const DenseRows&, const DenseRows&) = default;
};
// One bit per position from begin.p on, least significant first: set if the
// position's only element {p, 0} was kept. The rows are the set bits; bits of
// cursors outside [begin, end) are clear.
struct BitmapRows {
  std::vector<uint8_t> bits;
  friend bool operator==(const BitmapRows&, const BitmapRows&) = default;
};
// Runs of elements of one position: {p, i}, {p, i + 1}, … {p, i + count - 1}.
// In increasing order, counts above zero.
struct CursorRun {
  uint64_t p = 0;
  uint64_t i = 0;
  uint64_t count = 0;
  friend bool operator==(const CursorRun&, const CursorRun&) = default;
};
struct RunRows {
  std::vector<CursorRun> runs;
  friend bool operator==(const RunRows&, const RunRows&) = default;
};
using RowCursors = std::variant<DenseRows, BitmapRows, RunRows>;

// The number of rows below `cursor`, of `rows` rows that begin at `begin`.
size_t RowsBelow(const RowCursors& cursors, size_t rows, Cursor begin,
                 Cursor cursor);
// The cursor of row `row`. REQUIRES: row < rows.
Cursor CursorOfRow(const RowCursors& cursors, Cursor begin, size_t row);
// The cursors of the rows at or after `from`, for an interval that begins
// there.
RowCursors CursorsFrom(const RowCursors& cursors, Cursor begin, Cursor from);
// That `cursors` names exactly `rows` rows, in order, within [begin, end).
// DenseRows is right for any interval without rows.
absl::Status ValidateCursors(const RowCursors& cursors, size_t rows,
                             Cursor begin, Cursor end);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_CURSOR_H_
