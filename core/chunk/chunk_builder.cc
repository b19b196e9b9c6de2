#include "core/chunk/chunk_builder.h"

#include <algorithm>
#include <cstring>

#include "core/base/byte_budget.h"
#include "core/base/check.h"
#include "core/base/prefetch.h"
#include "core/chunk/buffer_builder.h"
#include "feedmill/element.h"

namespace feedmill {
namespace {

size_t Size(int64_t value) { return static_cast<size_t>(value); }

// Distance of prefetching: strings are written to memory that is not in the
// cache, so the memory this far ahead is prefetched while they are copied.
constexpr size_t kAheadBytes = 4096;

using Dims = std::span<const int64_t>;

// Same as NumItems.
int64_t Items(Dims dims) {
  constexpr int64_t kItemsMost = int64_t{1} << 59;
  int64_t items = 1;
  for (int64_t dim : dims) {
    if (__builtin_mul_overflow(items, dim, &items) || items > kItemsMost) {
      items = kItemsMost;
    }
  }
  return items;
}

}  // namespace

// The column is uniform until a row has another shape. Then row_shapes and
// row_starts are written for all earlier rows, and for each row from there on.
struct ChunkBuilder::ColumnBuilder {
  // The only row so far, which is not in the builders below: see Own.
  std::unique_ptr<Column> adopted;
  DType dtype;
  Shape shape;
  bool ragged = false;
  size_t rows = 0;
  int64_t items = 0;
  BufferBuilder values;
  BufferBuilder offsets;
  BufferBuilder row_shapes;
  BufferBuilder row_starts;

  ColumnBuilder(const ComponentSpec& spec,
                const std::shared_ptr<BlockSource>& blocks)
      : dtype(spec.dtype),
        shape(spec.shape),
        values(blocks),
        offsets(blocks),
        row_shapes(blocks),
        row_starts(blocks) {
    if (dtype == DType::kBytes) offsets.Push(int64_t{0});
  }

  size_t bytes() const {
    return adopted == nullptr ? values.size() : adopted->values.size();
  }

  // Copies an adopted row to the builders. Call it before any change.
  void Own() {
    if (adopted == nullptr) [[likely]]
      return;
    const std::unique_ptr<Column> row = std::move(adopted);
    rows = 0;
    AppendItems(*row, 0, row->RowItems(0));
    AddRows(row->shape, 1);
  }

  void AddRows(Dims dims, size_t count) {
    FM_CHECK(dims.size() == shape.size());
    if (rows == 0 && !ragged) shape.assign(dims.begin(), dims.end());
    if (!ragged && !std::ranges::equal(dims, shape)) MakeRagged();
    const int64_t each = Items(dims);
    if (ragged) {
      for (size_t d = 0; d < dims.size(); ++d) {
        if (shape[d] != dims[d]) shape[d] = kUnknownDim;
      }
      for (size_t row = 0; row < count; ++row) {
        row_shapes.Append(dims.data(), dims.size_bytes());
        row_starts.Push(items + static_cast<int64_t>(row + 1) * each);
      }
    }
    rows += count;
    items += static_cast<int64_t>(count) * each;
  }

  void MakeRagged() {
    ragged = true;
    const int64_t each = rows == 0 ? 0 : items / static_cast<int64_t>(rows);
    row_starts.Push(int64_t{0});
    for (size_t row = 0; row < rows; ++row) {
      row_shapes.Append(shape.data(), shape.size() * sizeof(int64_t));
      row_starts.Push(static_cast<int64_t>(row + 1) * each);
    }
  }

  void PushBytes(std::string_view bytes) {
    if (!bytes.empty()) {
      std::byte* const to = values.Extend(bytes.size());
      PrefetchToWrite(to + kAheadBytes, std::min(bytes.size(), kAheadBytes));
      std::memcpy(to, bytes.data(), bytes.size());
    }
    offsets.Push(static_cast<int64_t>(values.size()));
  }

  // Copies items [first, first + count) of a column, without their row shapes.
  void AppendItems(const Column& column, int64_t first, int64_t count) {
    if (dtype != DType::kBytes) {
      const size_t size = ItemSize(dtype);
      values.Append(column.values.data() + Size(first) * size,
                    Size(count) * size);
      return;
    }
    const auto from =
        column.offsets.As<int64_t>().subspan(Size(first), Size(count) + 1);
    const int64_t shift = static_cast<int64_t>(values.size()) - from.front();
    values.Append(column.values.data() + from.front(),
                  Size(from.back() - from.front()));
    std::byte* at = offsets.Extend(Size(count) * sizeof(int64_t));
    for (size_t k = 1; k < from.size(); ++k) {
      const int64_t offset = from[k] + shift;
      __builtin_memcpy(at, &offset, sizeof(offset));
      at += sizeof(offset);
    }
  }

  void TruncateTo(size_t kept) {
    if (rows == kept) return;
    if (adopted != nullptr) {
      adopted.reset();
      rows = 0;
      return;
    }
    FM_CHECK(kept < rows);
    if (ragged) {
      items = row_starts.As<int64_t>()[kept];
      row_starts.Truncate((kept + 1) * sizeof(int64_t));
      row_shapes.Truncate(kept * shape.size() * sizeof(int64_t));
    } else {
      items = items / static_cast<int64_t>(rows) * static_cast<int64_t>(kept);
    }
    rows = kept;
    if (dtype == DType::kBytes) {
      values.Truncate(Size(offsets.As<int64_t>()[Size(items)]));
      offsets.Truncate(Size(items + 1) * sizeof(int64_t));
    } else {
      values.Truncate(Size(items) * ItemSize(dtype));
    }
  }

  Column Finish() && {
    if (adopted != nullptr) return std::move(*adopted);
    // Without rows, unknown dimensions cannot be resolved.
    if (rows == 0 && !ragged && std::ranges::count(shape, kUnknownDim) > 0) {
      MakeRagged();
    }
    return {dtype,
            std::move(shape),
            std::move(values).Freeze(),
            std::move(offsets).Freeze(),
            std::move(row_shapes).Freeze(),
            std::move(row_starts).Freeze()};
  }
};

ChunkBuilder::ChunkBuilder(std::shared_ptr<const ElementSpec> spec,
                           std::shared_ptr<BlockSource> blocks)
    : spec_(std::move(spec)) {
  for (const ComponentSpec& component : spec_->components) {
    columns_.push_back(std::make_shared<ColumnBuilder>(component, blocks));
  }
}

size_t ChunkBuilder::bytes() const {
  size_t bytes = 0;
  for (const auto& column : columns_) bytes += column->bytes();
  return bytes;
}

void ChunkBuilder::AdoptRow(size_t c, Column column) {
  ColumnBuilder& to = *columns_[c];
  const int64_t items = column.RowItems(0);
  const bool bytes = column.dtype == DType::kBytes;
  const bool whole =
      column.RowStart(0) == 0 &&
      (bytes ? column.offsets.size() == Size(items + 1) * sizeof(int64_t) &&
                   column.offsets.As<int64_t>().front() == 0 &&
                   Size(column.offsets.As<int64_t>().back()) ==
                       column.values.size()
             : Size(items) * ItemSize(column.dtype) == column.values.size());
  if (to.rows > 0 || !whole) return AppendRows(c, column, 0, 1);
  FM_CHECK(column.dtype == to.dtype);
  column.shape = column.RowShape(0);
  column.row_shapes = {};
  column.row_starts = {};
  to.adopted = std::make_unique<Column>(std::move(column));
  to.rows = 1;
}

void ChunkBuilder::AppendRows(size_t c, const Column& column, size_t begin,
                              size_t end) {
  if (begin >= end) return;
  ColumnBuilder& to = *columns_[c];
  FM_CHECK(column.dtype == to.dtype);
  to.Own();
  const int64_t first = column.RowStart(begin);
  to.AppendItems(column, first, column.RowStart(end) - first);
  if (!column.ragged()) {
    to.AddRows(column.shape, end - begin);
    return;
  }
  for (size_t row = begin; row < end; ++row) to.AddRows(column.RowDims(row), 1);
}

void ChunkBuilder::AppendDense(size_t c, const Shape& shape, const void* items,
                               size_t row_count) {
  if (row_count == 0) return;
  ColumnBuilder& to = *columns_[c];
  FM_CHECK(to.dtype != DType::kBytes);
  to.Own();
  to.values.Append(items, row_count * Size(Items(shape)) * ItemSize(to.dtype));
  to.AddRows(shape, row_count);
}

std::byte* ChunkBuilder::AppendRow(size_t c, const Shape& shape) {
  ColumnBuilder& to = *columns_[c];
  FM_CHECK(to.dtype != DType::kBytes);
  to.Own();
  // Extend comes first, because it may throw MemoryRefused.
  std::byte* const at =
      to.values.Extend(Size(Items(shape)) * ItemSize(to.dtype));
  to.AddRows(shape, 1);
  return at;
}

void ChunkBuilder::AppendBytes(size_t c, std::string_view bytes) {
  ColumnBuilder& to = *columns_[c];
  FM_CHECK(to.dtype == DType::kBytes && to.shape.empty());
  to.Own();
  to.PushBytes(bytes);
  ++to.rows;  // as AddRows would: all scalars have one shape
  ++to.items;
}

void ChunkBuilder::AppendBytesRow(size_t c, const Shape& shape,
                                  const std::vector<std::string_view>& items) {
  ColumnBuilder& to = *columns_[c];
  FM_CHECK(to.dtype == DType::kBytes && Size(Items(shape)) == items.size());
  to.Own();
  for (std::string_view item : items) to.PushBytes(item);
  to.AddRows(shape, 1);
}

void ChunkBuilder::DropUnfinished() {
  for (const auto& column : columns_) column->TruncateTo(rows_);
}

void ChunkBuilder::ReserveValues(size_t c, size_t bytes) {
  // A hint only, so it stays within the budget: the bytes may not be needed.
  BufferBuilder& values = columns_[c]->values;
  values.Reserve(static_cast<size_t>(
      std::min<uint64_t>(values.size() + bytes, ByteBudget::Limit())));
}

Chunk ChunkBuilder::Finish() && {
  Chunk chunk{spec_, rows_, {}};
  chunk.columns.reserve(columns_.size());
  for (const auto& column : columns_) {
    FM_CHECK(column->rows == rows_);
    chunk.columns.push_back(std::move(*column).Finish());
  }
  columns_.clear();
  return chunk;
}

Chunk Concatenate(const std::vector<Chunk>& chunks) {
  FM_CHECK(!chunks.empty());
  std::vector<const Chunk*> parts;
  for (const Chunk& chunk : chunks) {
    if (chunk.rows > 0) parts.push_back(&chunk);
  }
  if (parts.empty()) return chunks.front();
  if (parts.size() == 1) return *parts.front();
  ChunkBuilder builder(parts.front()->spec);
  const size_t columns = parts.front()->columns.size();
  for (size_t c = 0; c < columns; ++c) {
    size_t bytes = 0;
    for (const Chunk* part : parts) bytes += part->columns[c].values.size();
    builder.ReserveValues(c, bytes);
    for (const Chunk* part : parts) {
      FM_CHECK(part->columns.size() == columns);
      builder.AppendRows(c, part->columns[c], 0, part->rows);
    }
  }
  for (const Chunk* part : parts) builder.FinishRows(part->rows);
  return std::move(builder).Finish();
}

}  // namespace feedmill
