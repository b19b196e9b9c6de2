#ifndef FEEDMILL_CORE_CHUNK_CHUNK_H_
#define FEEDMILL_CORE_CHUNK_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/chunk/buffer.h"
#include "core/chunk/cursor.h"
#include "core/chunk/element_spec.h"
#include "core/chunk/skipped_element.h"

namespace feedmill {

// One component of a chunk, for all its rows.
//
//   uniform  every row has `shape`; items of row r are
//            [r * NumItems(shape), (r + 1) * NumItems(shape)).
//   ragged   row_shapes holds rank dims per row (int64), row_starts rows + 1
//            item indexes (int64); `shape` keeps the rank, its dims are
//            kUnknownDim where rows differ (or may).
//
// For fixed-size dtypes item k is values[k * ItemSize, …). For kBytes, offsets
// holds items + 1 int64 positions in `values`; offsets[0] and row_starts[0]
// need not be 0, so that a slice shares its parent's buffers.
struct Column {
  DType dtype = DType::kInt64;
  Shape shape;
  Buffer values;
  Buffer offsets;
  Buffer row_shapes;
  Buffer row_starts;

  bool ragged() const { return row_starts.size() > 0; }
  // The shape of row `row`: rank dims.
  Shape RowShape(size_t row) const;
  // The same without an allocation; valid as long as this column.
  std::span<const int64_t> RowDims(size_t row) const;
  // First item and number of items of a row.
  int64_t RowStart(size_t row) const;
  int64_t RowItems(size_t row) const;
  // REQUIRES: dtype == kBytes.
  std::string_view BytesAt(int64_t item) const;
  // The items of a row. REQUIRES: T is the C++ type of dtype.
  template <class T>
  std::span<const T> Items(size_t row) const {
    return values.As<T>().subspan(static_cast<size_t>(RowStart(row)),
                                  static_cast<size_t>(RowItems(row)));
  }
  // Rows [begin, end), sharing buffers.
  Column Slice(size_t begin, size_t end) const;
  // What the fields above promise, for `rows` rows that `spec` describes.
  absl::Status Validate(const ComponentSpec& spec, size_t rows) const;
};

// A uniform column over a copy of `items`, rows of `shape` one after another.
template <class T>
Column MakeColumn(std::span<const T> items, Shape shape = {}) {
  return {DTypeOf<T>(),
          std::move(shape),
          Buffer::CopyOf(std::as_bytes(items)),
          {},
          {},
          {}};
}
template <class T>
Column MakeColumn(const std::vector<T>& items, Shape shape = {}) {
  return MakeColumn(std::span<const T>(items), std::move(shape));
}
Column MakeBytesColumn(std::span<const std::string_view> items,
                       Shape shape = {});

// N elements, columnar: the unit of work and of the wire. Immutable; copying
// one copies pointers.
struct Chunk {
  std::shared_ptr<const ElementSpec> spec;  // one component per column
  size_t rows = 0;
  std::vector<Column> columns;

  // Rows [begin, end), sharing buffers.
  Chunk Slice(size_t begin, size_t end) const;
  // The bytes of rows [begin, end) as credit counts them: items times item
  // size; for kBytes the bytes plus 8 a string; at least 1 a row. A function
  // of the elements only, never of how they are cut into chunks.
  size_t ElementBytes(size_t begin, size_t end) const;
  size_t ElementBytes() const { return ElementBytes(0, rows); }
  // Everything that the columns promise about their buffers (sizes, monotonic
  // offsets and starts, dims that match). For chunks that came over a wire.
  absl::Status Validate() const;
};

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

// Collects rows into a chunk. Not thread-safe.
//
// The columns grow as rows come; a column whose rows turn out to differ in
// shape becomes ragged by itself.
class ChunkBuilder {
 public:
  // `blocks`: where large columns take their memory from; null: malloc.
  explicit ChunkBuilder(std::shared_ptr<const ElementSpec> spec,
                        std::shared_ptr<BlockSource> blocks = nullptr);

  size_t rows() const { return rows_; }
  size_t bytes() const;  // of all values so far

  // Appends rows [begin, end) of `column` to component c. Every component must
  // get the same number of rows before FinishRows.
  void AppendRows(size_t c, const Column& column, size_t begin, size_t end);
  // Appends rows of a uniform fixed-size component from dense memory.
  void AppendDense(size_t c, const Shape& shape, const void* items,
                   size_t row_count);
  // Room for one row of a fixed-size component; the caller fills it. Valid
  // until the next call on that component.
  std::byte* AppendRow(size_t c, const Shape& shape);
  // One scalar string.
  void AppendBytes(size_t c, std::string_view bytes);
  // One row of strings of that shape. REQUIRES: items.size() == NumItems.
  void AppendBytesRow(size_t c, const Shape& shape,
                      const std::vector<std::string_view>& items);
  // Declares that `count` more rows are complete in every component.
  void FinishRows(size_t count) { rows_ += count; }
  // Drops what was appended since the last FinishRows: a row that failed.
  void DropUnfinished();
  // Room for that many more bytes of values in component c.
  void ReserveValues(size_t c, size_t bytes);

  Chunk Finish() &&;

 private:
  struct ColumnBuilder;
  std::shared_ptr<const ElementSpec> spec_;
  std::vector<std::shared_ptr<ColumnBuilder>> columns_;
  size_t rows_ = 0;
};

// The rows of `chunks` in order, as one chunk (one alone is returned as is).
// REQUIRES: all have the same spec.
Chunk Concatenate(const std::vector<Chunk>& chunks);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_CHUNK_H_
