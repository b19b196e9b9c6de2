#include "core/sources/columnar_rows.h"

#include <cstring>

namespace feedmill {
namespace {

bool IsList(const SourceField& field) {
  return field.shape.size() == 1 && field.shape[0] == kUnknownDim;
}

const int64_t* Int64s(const Buffer& buffer) {
  return reinterpret_cast<const int64_t*>(buffer.data());
}

// Copies rows of `Width` bytes; if it is 0, of `width` bytes.
template <size_t Width>
void CopyFixedRows(std::span<const ColumnarRun> runs, size_t c, size_t width,
                   std::byte* to) {
  const size_t bytes = Width == 0 ? width : Width;
  const DecodedGroup* group = nullptr;
  const std::byte* values = nullptr;
  for (const ColumnarRun& run : runs) {
    if (run.group != group) {
      group = run.group;
      values = group->columns[c].column.values.data();
    }
    const std::byte* const from = values + run.first * bytes;
    if (Width > 0 && run.count == 1) {
      std::memcpy(to, from, Width);
      to += Width;
    } else if (run.count * bytes > 0) {
      std::memcpy(to, from, run.count * bytes);
      to += run.count * bytes;
    }
  }
}

void CopyFixed(std::span<const ColumnarRun> runs, size_t c, size_t width,
               OutputColumn& out) {
  size_t rows = 0;
  for (const ColumnarRun& run : runs) rows += run.count;
  std::byte* const to = out.values.Extend(rows * width);
  switch (width) {
    case 1:
      return CopyFixedRows<1>(runs, c, width, to);
    case 2:
      return CopyFixedRows<2>(runs, c, width, to);
    case 4:
      return CopyFixedRows<4>(runs, c, width, to);
    case 8:
      return CopyFixedRows<8>(runs, c, width, to);
    default:
      return CopyFixedRows<0>(runs, c, width, to);
  }
}

// Appends items [begin, end) of a column, independent of rows.
void AppendItems(const Column& from, int64_t begin, int64_t end,
                 OutputColumn& out) {
  const auto count = static_cast<size_t>(end - begin);
  if (from.dtype != DType::kBytes) {
    const size_t size = ItemSize(from.dtype);
    out.values.Append(from.values.data() + static_cast<size_t>(begin) * size,
                      count * size);
    return;
  }
  const int64_t* const offsets = Int64s(from.offsets);
  const int64_t shift =
      static_cast<int64_t>(out.values.size()) - offsets[begin];
  out.values.Append(from.values.data() + offsets[begin],
                    static_cast<size_t>(offsets[end] - offsets[begin]));
  auto* const to =
      reinterpret_cast<int64_t*>(out.offsets.Extend(count * sizeof(int64_t)));
  for (size_t k = 0; k < count; ++k) {
    to[k] = offsets[begin + static_cast<int64_t>(k) + 1] + shift;
  }
}

void AppendLists(const Column& from, size_t first, size_t count,
                 OutputColumn& out) {
  const int64_t* const starts = Int64s(from.row_starts);
  int64_t at =
      out.row_starts.As<int64_t>()[out.row_starts.size() / sizeof(int64_t) - 1];
  AppendItems(from, starts[first], starts[first + count], out);
  for (size_t row = first; row < first + count; ++row) {
    const int64_t items = starts[row + 1] - starts[row];
    at += items;
    out.row_shapes.Push(items);
    out.row_starts.Push(at);
  }
}

void CopyColumn(std::span<const ColumnarRun> runs, size_t c,
                const SourceField& field, OutputColumn& out) {
  out.Reset(field.dtype, field.shape);
  if (field.dtype == DType::kBytes) out.offsets.Push(int64_t{0});
  if (IsList(field)) {
    out.row_starts.Push(int64_t{0});
    for (const ColumnarRun& run : runs) {
      AppendLists(run.group->columns[c].column, run.first, run.count, out);
    }
    return;
  }
  if (field.dtype != DType::kBytes) {
    return CopyFixed(runs, c, FixedRowBytes(field), out);
  }
  const int64_t items = NumItems(field.shape);
  for (const ColumnarRun& run : runs) {
    const auto begin = static_cast<int64_t>(run.first) * items;
    AppendItems(run.group->columns[c].column, begin,
                begin + static_cast<int64_t>(run.count) * items, out);
  }
}

}  // namespace

uint64_t FixedRowBytes(const SourceField& field) {
  if (field.dtype == DType::kBytes || IsList(field)) return 0;
  return static_cast<uint64_t>(NumItems(field.shape)) * ItemSize(field.dtype);
}

uint64_t BytesOfRow(const Column& column, size_t row) {
  int64_t begin = 0;
  int64_t end = 0;
  if (column.row_starts.size() > 0) {
    begin = Int64s(column.row_starts)[row];
    end = Int64s(column.row_starts)[row + 1];
  } else {
    const int64_t items = NumItems(column.shape);
    begin = static_cast<int64_t>(row) * items;
    end = begin + items;
  }
  if (column.dtype != DType::kBytes) {
    return static_cast<uint64_t>(end - begin) * ItemSize(column.dtype);
  }
  const int64_t* const offsets = Int64s(column.offsets);
  return static_cast<uint64_t>(offsets[end] - offsets[begin]) +
         sizeof(int64_t) * static_cast<uint64_t>(end - begin);
}

void CopyRuns(std::span<const ColumnarRun> runs,
              std::span<const SourceField> fields,
              std::vector<OutputColumn>& out) {
  out.resize(fields.size());
  for (size_t c = 0; c < fields.size(); ++c) {
    CopyColumn(runs, c, fields[c], out[c]);
  }
}

}  // namespace feedmill
