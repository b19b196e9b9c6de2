#ifndef FEEDMILL_CORE_CHUNK_CHUNK_BUILDER_H_
#define FEEDMILL_CORE_CHUNK_CHUNK_BUILDER_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "core/chunk/buffer_builder.h"
#include "feedmill/element.h"

namespace feedmill {

// Collects rows into a chunk. Not thread-safe.
//
// Columns grow as rows are added. A column becomes ragged when a row has
// another shape.
class ChunkBuilder {
 public:
  // `blocks`: source of the memory of large columns; null: malloc.
  explicit ChunkBuilder(std::shared_ptr<const ElementSpec> spec,
                        std::shared_ptr<BlockSource> blocks = nullptr);

  size_t rows() const { return rows_; }
  size_t bytes() const;  // of all values so far

  // Appends rows [begin, end) of `column` to component c. Every component must
  // get the same number of rows before FinishRows.
  void AppendRows(size_t c, const Column& column, size_t begin, size_t end);
  // Same as AppendRows(c, column, 0, 1), for the only row of `column`. Keeps
  // the column's buffers instead of copying them if the row is the first one,
  // and the buffers hold nothing else.
  void AdoptRow(size_t c, Column column);
  // Appends rows of a uniform fixed-size component from dense memory.
  void AppendDense(size_t c, const Shape& shape, const void* items,
                   size_t row_count);
  // Adds one row of a fixed-size component and returns its memory, which the
  // caller fills. Valid until the next call on that component.
  std::byte* AppendRow(size_t c, const Shape& shape);
  // Appends one scalar string.
  void AppendBytes(size_t c, std::string_view bytes);
  // Appends one row of strings of that shape. REQUIRES: items.size() ==
  // NumItems(shape).
  void AppendBytesRow(size_t c, const Shape& shape,
                      const std::vector<std::string_view>& items);
  // Declares that `count` more rows are complete in every component.
  void FinishRows(size_t count) { rows_ += count; }
  // Drops all values appended since the last FinishRows: the values of a row
  // that failed.
  void DropUnfinished();
  // Reserves memory for `bytes` more bytes of values in component c.
  void ReserveValues(size_t c, size_t bytes);

  Chunk Finish() &&;

 private:
  struct ColumnBuilder;
  std::shared_ptr<const ElementSpec> spec_;
  std::vector<std::shared_ptr<ColumnBuilder>> columns_;
  size_t rows_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_CHUNK_BUILDER_H_
