#ifndef FEEDMILL_CORE_CHUNK_CURSOR_H_
#define FEEDMILL_CORE_CHUNK_CURSOR_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

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
// Row r is {begin.p + r, 0}: nothing was dropped, one element a position.
struct DenseRows {
  friend bool operator==(const DenseRows&, const DenseRows&) = default;
};
// One bit per position from begin.p on, least significant first: set if the
// position's only element was kept. The rows are the set bits.
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

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_CURSOR_H_
