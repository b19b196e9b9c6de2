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

// The cursors of a chunk's rows, relative to the interval [begin, end) that the
// chunk covers. There is a form for each shape of pipeline.
//
// No element was dropped, and each position has one element: row r is the r-th
// {p, 0} at or after begin, which is {begin.p + r, 0} if begin.i is 0.
struct DenseRows {
  friend bool operator==(const DenseRows&, const DenseRows&) = default;
};
// One bit per position from begin.p on, least significant first. A bit is set
// if the position's only element {p, 0} was kept. The rows are the set bits;
// bits of cursors outside [begin, end) are clear.
struct BitmapRows {
  std::vector<uint8_t> bits;
  friend bool operator==(const BitmapRows&, const BitmapRows&) = default;
};
// A run of elements of one position: {p, i}, {p, i + 1}, … {p, i + count - 1}.
// Runs are in increasing order; no count is 0.
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

// Returns the number of rows below `cursor`, of `rows` rows that begin at
// `begin`.
size_t RowsBelow(const RowCursors& cursors, size_t rows, Cursor begin,
                 Cursor cursor);
// Returns the cursor of row `row`. REQUIRES: row < rows.
Cursor CursorOfRow(const RowCursors& cursors, Cursor begin, size_t row);
// Returns the cursors of the rows at or after `from`, relative to an interval
// that begins at `from`.
RowCursors CursorsFrom(const RowCursors& cursors, Cursor begin, Cursor from);
// Returns the cursors of the rows before `to`.
RowCursors CursorsBefore(const RowCursors& cursors, Cursor begin, Cursor to);
// Checks that `cursors` names exactly `rows` rows, in order, within [begin,
// end). DenseRows is valid for any interval without rows.
absl::Status ValidateCursors(const RowCursors& cursors, size_t rows,
                             Cursor begin, Cursor end);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_CURSOR_H_
