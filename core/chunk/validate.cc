// Validation of columns, chunks and pieces that came from outside.
#include <algorithm>

#include "core/base/status.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "feedmill/element.h"

namespace feedmill {
namespace {

// Larger than any chunk; sums of two such numbers cannot overflow.
constexpr int64_t kMaxItems = int64_t{1} << 48;
constexpr size_t kMaxRank = 32;
// Most lists without items, as in the shape [1000, 0]. Such lists take no
// memory, so printing them needs a bound of its own.
constexpr int64_t kMaxEmptyLists = int64_t{1} << 24;

// Returns the product of `dims`; -1 if a dimension is negative or the product
// exceeds a bound.
int64_t BoundedItems(std::span<const int64_t> dims) {
  int64_t items = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0 || dim > kMaxItems) return -1;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (items > kMaxItems / dim) return -1;
    items *= dim;
  }
  if (empty) return items <= kMaxEmptyLists ? 0 : -1;
  return items;
}

bool Matches(std::span<const int64_t> dims, const Shape& pattern) {
  for (size_t d = 0; d < pattern.size(); ++d) {
    if (pattern[d] != kUnknownDim && pattern[d] != dims[d]) return false;
  }
  return true;
}

template <class T>
bool IsAligned(const Buffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data()) % alignof(T) == 0;
}

bool IsAlignedFor(const Buffer& buffer, size_t item_size) {
  return item_size == 0 ||
         reinterpret_cast<uintptr_t>(buffer.data()) % item_size == 0;
}

// Checks row_starts and row_shapes. On success, `end` is the number of items up
// to the end of the last row.
absl::Status ValidateRaggedRows(const Column& column, const ComponentSpec& spec,
                                size_t rows, int64_t& begin, int64_t& end) {
  const size_t rank = column.shape.size();
  if (column.row_starts.size() / sizeof(int64_t) != rows + 1 ||
      column.row_starts.size() % sizeof(int64_t) != 0) {
    return InvalidArgument("row_starts has {} bytes for {} rows",
                           column.row_starts.size(), rows);
  }
  if (column.row_shapes.size() != rows * rank * sizeof(int64_t)) {
    return InvalidArgument("row_shapes has {} bytes for {} rows of rank {}",
                           column.row_shapes.size(), rows, rank);
  }
  if (!IsAligned<int64_t>(column.row_starts) ||
      !IsAligned<int64_t>(column.row_shapes)) {
    return InvalidArgument("row_starts or row_shapes is not aligned");
  }
  const auto starts = column.row_starts.As<int64_t>();
  begin = starts[0];
  if (begin < 0 || begin > kMaxItems) {
    return InvalidArgument("the first row starts at item {}", begin);
  }
  for (size_t row = 0; row < rows; ++row) {
    const auto dims = column.RowDims(row);
    const int64_t items = BoundedItems(dims);
    if (items < 0 || starts[row + 1] > kMaxItems ||
        starts[row + 1] != starts[row] + items) {
      return InvalidArgument("row {} does not have the items of its shape",
                             row);
    }
    if (!Matches(dims, spec.shape) || !Matches(dims, column.shape)) {
      return InvalidArgument("the shape of row {} is not its component's {}",
                             row, ShapeToString(spec.shape));
    }
  }
  end = starts[rows];
  return absl::OkStatus();
}

absl::Status ValidateUniformRows(const Column& column,
                                 const ComponentSpec& spec, size_t rows,
                                 int64_t& end) {
  if (column.row_shapes.size() != 0) {
    return InvalidArgument("row_shapes without row_starts");
  }
  const int64_t items = BoundedItems(column.shape);
  if (items < 0) {
    return InvalidArgument("a uniform column has the shape {}",
                           ShapeToString(column.shape));
  }
  if (!Matches(column.shape, spec.shape)) {
    return InvalidArgument("a column of shape {} for a component of shape {}",
                           ShapeToString(column.shape),
                           ShapeToString(spec.shape));
  }
  if (rows > 0 && items > kMaxItems / static_cast<int64_t>(rows)) {
    return InvalidArgument("{} rows of {} items are too many", rows, items);
  }
  end = items * static_cast<int64_t>(rows);
  return absl::OkStatus();
}

absl::Status ValidateOffsets(const Column& column, int64_t begin, int64_t end) {
  const auto offsets = column.offsets.As<int64_t>();
  if (column.offsets.size() % sizeof(int64_t) != 0 ||
      !IsAligned<int64_t>(column.offsets) ||
      offsets.size() < static_cast<size_t>(end) + 1) {
    return InvalidArgument("offsets has {} bytes for {} strings",
                           column.offsets.size(), end);
  }
  const auto used = offsets.subspan(static_cast<size_t>(begin),
                                    static_cast<size_t>(end - begin) + 1);
  if (used.front() < 0 || !std::is_sorted(used.begin(), used.end()) ||
      static_cast<uint64_t>(used.back()) > column.values.size()) {
    return InvalidArgument("offsets are not increasing within {} bytes",
                           column.values.size());
  }
  return absl::OkStatus();
}

absl::Status ValidateItems(const Column& column, int64_t begin, int64_t end) {
  if (column.dtype == DType::kBytes) {
    return ValidateOffsets(column, begin, end);
  }
  const size_t size = ItemSize(column.dtype);
  if (column.offsets.size() != 0) {
    return InvalidArgument("offsets for items of fixed size");
  }
  if (column.values.size() / size < static_cast<size_t>(end) ||
      column.values.size() % size != 0 || !IsAlignedFor(column.values, size)) {
    return InvalidArgument("values has {} bytes for {} items of {}",
                           column.values.size(), end, size);
  }
  if (column.dtype == DType::kBool) {
    const auto items = column.values.As<uint8_t>().subspan(
        static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    uint8_t all = 0;
    for (uint8_t item : items) all |= item;
    if (all > 1) return InvalidArgument("a bool is neither 0 nor 1");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Column::Validate(const ComponentSpec& spec, size_t rows) const {
  if (dtype != spec.dtype || shape.size() != spec.shape.size() ||
      shape.size() > kMaxRank) {
    return InvalidArgument("a {} column of rank {} for a component {}{}",
                           DTypeName(dtype), shape.size(),
                           DTypeName(spec.dtype), ShapeToString(spec.shape));
  }
  int64_t begin = 0;
  int64_t end = 0;
  if (ragged()) {
    FM_RETURN_IF_ERROR(ValidateRaggedRows(*this, spec, rows, begin, end));
  } else {
    FM_RETURN_IF_ERROR(ValidateUniformRows(*this, spec, rows, end));
  }
  return ValidateItems(*this, begin, end);
}

absl::Status Chunk::Validate() const {
  if (spec == nullptr) {
    if (rows == 0 && columns.empty()) return absl::OkStatus();
    return InvalidArgument("a chunk without a spec");
  }
  if (columns.size() != spec->components.size()) {
    return InvalidArgument("{} columns for {} components", columns.size(),
                           spec->components.size());
  }
  if (rows > static_cast<size_t>(kMaxItems)) {
    return InvalidArgument("{} rows are too many", rows);
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    FM_RETURN_IF_ERROR(
        Annotate(columns[c].Validate(spec->components[c], rows),
                 "component '" + spec->components[c].name + "'"));
  }
  return absl::OkStatus();
}

absl::Status Piece::Validate() const {
  FM_RETURN_IF_ERROR(chunk.Validate());
  if (skipped) {
    const Cursor at = skipped->cursor;
    if (at < begin || end <= at || !error.ok() ||
        RowsBelow(cursors, chunk.rows, begin, at) != chunk.rows) {
      return InvalidArgument(
          "the element ({}, {}) that was left out is not the last of [({}, "
          "{}), ({}, {}))",
          at.p, at.i, begin.p, begin.i, end.p, end.i);
    }
  }
  return ValidateCursors(cursors, chunk.rows, begin, end);
}

}  // namespace feedmill
