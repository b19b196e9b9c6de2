#ifndef FEEDMILL_CHUNK_H_
#define FEEDMILL_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "feedmill/element_spec.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

inline constexpr size_t kBufferAlignment = 64;

// Immutable bytes with shared ownership. Copying a Buffer copies a pointer.
//
// Thread-safety: immutable after construction; any thread may hold copies.
class Buffer {
 public:
  Buffer() = default;
  // Views [data, data + size), kept alive by `owner`.
  Buffer(std::shared_ptr<const void> owner, const std::byte* data, size_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  // A 64-byte-aligned copy of the bytes.
  static Buffer CopyOf(std::span<const std::byte> bytes);

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> span() const { return {data_, size_}; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // The items as T. REQUIRES: data() is aligned for T (true for buffers made
  // here and for buffers from wire decoding).
  template <class T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
  }

  // A view of [offset, offset + size), sharing ownership.
  Buffer Slice(size_t offset, size_t size) const;

 private:
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

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
  // Checks the buffers' sizes, offsets and starts for `rows` rows of `spec`.
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

// Elements by columns: row r of all columns is one element. Immutable; copying
// a Chunk copies pointers.
struct Chunk {
  std::shared_ptr<const ElementSpec> spec;  // one component per column
  size_t rows = 0;
  std::vector<Column> columns;

  // Rows [begin, end), sharing buffers.
  Chunk Slice(size_t begin, size_t end) const;
  // Bytes of rows [begin, end): number of items times item size; for kBytes the
  // bytes plus 8 for each string; at least 1 for each row. Depends on the
  // elements only, not on how they are cut into chunks.
  size_t ElementBytes(size_t begin, size_t end) const;
  size_t ElementBytes() const { return ElementBytes(0, rows); }
  // Column::Validate of all columns. For chunks from a network.
  absl::Status Validate() const;
};

// The rows of `chunks` in order, as one chunk (one alone is returned as is).
// REQUIRES: all have the same spec.
Chunk Concatenate(const std::vector<Chunk>& chunks);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_CHUNK_H_
