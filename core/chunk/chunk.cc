#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/chunk_builder.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "feedmill/element.h"

namespace feedmill {
namespace {

constexpr size_t kOffsetSize = sizeof(int64_t);

// True unless a piece of a sequence ends it (Piece::OfShare).
bool IsWithinSequence(const Piece& piece) {
  return piece.begin.p == piece.end.p &&
         piece.end.i - piece.begin.i == piece.chunk.rows;
}

size_t Size(int64_t value) { return static_cast<size_t>(value); }

// Smallest size of a row, so that no element is free.
constexpr size_t kLeastRowBytes = 1;
constexpr size_t kStringOverhead = 8;

size_t ItemBytes(const Column& column, int64_t first, int64_t items) {
  if (column.dtype != DType::kBytes) {
    return Size(items) * ItemSize(column.dtype);
  }
  const auto offsets = column.offsets.As<int64_t>();
  return Size(offsets[Size(first + items)] - offsets[Size(first)]) +
         kStringOverhead * Size(items);
}

size_t RowBytes(const Column& column, size_t begin, size_t end) {
  const int64_t first = column.RowStart(begin);
  return ItemBytes(column, first, column.RowStart(end) - first);
}

}  // namespace

std::span<const int64_t> Column::RowDims(size_t row) const {
  if (!ragged()) return shape;
  return row_shapes.As<int64_t>().subspan(row * shape.size(), shape.size());
}

Shape Column::RowShape(size_t row) const {
  const auto dims = RowDims(row);
  return Shape(dims.begin(), dims.end());
}

int64_t Column::RowStart(size_t row) const {
  if (ragged()) return row_starts.As<int64_t>()[row];
  return row == 0 ? 0 : static_cast<int64_t>(row) * NumItems(shape);
}

int64_t Column::RowItems(size_t row) const {
  if (!ragged()) return NumItems(shape);
  const auto starts = row_starts.As<int64_t>();
  return starts[row + 1] - starts[row];
}

std::string_view Column::BytesAt(int64_t item) const {
  const auto at = offsets.As<int64_t>().subspan(Size(item), 2);
  return {reinterpret_cast<const char*>(values.data()) + at[0],
          Size(at[1] - at[0])};
}

Column Column::Slice(size_t begin, size_t end) const {
  Column slice = *this;
  if (ragged()) {
    const size_t row = shape.size() * kOffsetSize;
    slice.row_shapes = row_shapes.Slice(begin * row, (end - begin) * row);
    slice.row_starts =
        row_starts.Slice(begin * kOffsetSize, (end - begin + 1) * kOffsetSize);
    return slice;
  }
  const size_t first = Size(RowStart(begin));
  const size_t items = Size(RowStart(end)) - first;
  if (dtype == DType::kBytes) {
    slice.offsets =
        offsets.Slice(first * kOffsetSize, (items + 1) * kOffsetSize);
  } else {
    const size_t size = ItemSize(dtype);
    slice.values = values.Slice(first * size, items * size);
  }
  return slice;
}

Column MakeBytesColumn(std::span<const std::string_view> items, Shape shape) {
  BufferBuilder values;
  BufferBuilder offsets((items.size() + 1) * kOffsetSize);
  offsets.Push(int64_t{0});
  for (std::string_view item : items) {
    values.Append(item.data(), item.size());
    offsets.Push(static_cast<int64_t>(values.size()));
  }
  return {DType::kBytes,
          std::move(shape),
          std::move(values).Freeze(),
          std::move(offsets).Freeze(),
          {},
          {}};
}

Chunk Chunk::Slice(size_t begin, size_t end) const {
  FM_CHECK(begin <= end && end <= rows);
  if (begin == 0 && end == rows) return *this;
  Chunk slice{spec, end - begin, {}};
  slice.columns.reserve(columns.size());
  for (const Column& column : columns) {
    slice.columns.push_back(column.Slice(begin, end));
  }
  return slice;
}

size_t Chunk::ElementBytes(size_t begin, size_t end) const {
  if (begin >= end) return 0;
  size_t bytes = 0;
  bool some_in_every_row = false;
  for (const Column& column : columns) {
    bytes += RowBytes(column, begin, end);
    if (!column.ragged() && NumItems(column.shape) > 0) {
      some_in_every_row = true;
    }
  }
  if (some_in_every_row) return bytes;
  bytes = 0;
  for (size_t row = begin; row < end; ++row) {
    size_t row_bytes = 0;
    for (const Column& column : columns) {
      row_bytes += RowBytes(column, row, row + 1);
    }
    bytes += std::max(kLeastRowBytes, row_bytes);
  }
  return bytes;
}

Piece Piece::From(Cursor from) const {
  FM_CHECK(begin <= from && from <= end);
  Piece rest;
  rest.begin = from;
  rest.end = end;
  rest.cursors = CursorsFrom(cursors, begin, from);
  rest.chunk =
      chunk.Slice(RowsBelow(cursors, chunk.rows, begin, from), chunk.rows);
  rest.error = error;
  if (skipped && from <= skipped->cursor) rest.skipped = skipped;
  rest.state = state;
  return rest;
}

Piece Piece::First(size_t rows) const {
  FM_CHECK(rows < chunk.rows);
  Piece first;
  first.begin = begin;
  first.end = CursorOf(rows);
  first.cursors = CursorsBefore(cursors, begin, first.end);
  first.chunk = chunk.Slice(0, rows);
  return first;
}

Piece Piece::OfShare(Share share) const {
  if (share.whole() || begin.p < end.p || chunk.rows == 0) return *this;
  Piece own;
  own.begin = begin;
  own.end = end;
  own.error = error;
  own.state = state;
  const uint64_t first = CursorOf(0).i;
  RunRows& rows = own.cursors.emplace<RunRows>();
  for (uint64_t n = share.From(first); n < first + chunk.rows;
       n += share.ranks) {
    rows.runs.push_back({begin.p, n, 1});
  }
  const auto row = [first](const CursorRun& run) {
    return static_cast<size_t>(run.i - first);
  };
  if (rows.runs.size() <= 1) {
    const size_t at = rows.runs.empty() ? 0 : row(rows.runs[0]);
    own.chunk = chunk.Slice(at, at + rows.runs.size());
    return own;
  }
  ChunkBuilder builder(chunk.spec);
  for (size_t c = 0; c < chunk.columns.size(); ++c) {
    for (const CursorRun& run : rows.runs) {
      builder.AppendRows(c, chunk.columns[c], row(run), row(run) + 1);
    }
  }
  builder.FinishRows(rows.runs.size());
  own.chunk = std::move(builder).Finish();
  return own;
}

Piece Piece::ByRank(uint64_t ranks, std::shared_ptr<BlockSource> blocks) const {
  if (!IsWithinSequence(*this) || chunk.rows <= 1) return *this;
  Piece ordered = *this;
  ChunkBuilder builder(chunk.spec, std::move(blocks));
  for (size_t c = 0; c < chunk.columns.size(); ++c) {
    for (uint64_t rank = 0; rank < ranks; ++rank) {
      const Share share{rank, ranks};
      for (uint64_t n = share.From(begin.i); n < end.i; n += ranks) {
        const auto row = static_cast<size_t>(n - begin.i);
        builder.AppendRows(c, chunk.columns[c], row, row + 1);
      }
    }
  }
  builder.FinishRows(chunk.rows);
  ordered.chunk = std::move(builder).Finish();
  return ordered;
}

Piece Piece::OfShareByRank(Share share) const {
  if (!IsWithinSequence(*this)) return *this;
  const auto rows_of = [this](Share one) {
    return static_cast<size_t>(one.Below(end.i) - one.Below(begin.i));
  };
  size_t first = 0;
  for (uint64_t rank = 0; rank < share.rank; ++rank) {
    first += rows_of({rank, share.ranks});
  }
  Piece own = *this;
  own.chunk = chunk.Slice(first, first + rows_of(share));
  RunRows& rows = own.cursors.emplace<RunRows>();
  for (uint64_t n = share.From(begin.i); n < end.i; n += share.ranks) {
    rows.runs.push_back({begin.p, n, 1});
  }
  return own;
}

uint64_t Piece::ElementsReached() const {
  if (begin.p == end.p) return end.i;
  return chunk.rows == 0 ? begin.i : CursorOf(chunk.rows - 1).i + 1;
}

}  // namespace feedmill
