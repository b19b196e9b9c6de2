#include "core/sources/columnar_rows.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "core/base/prefetch.h"

namespace feedmill {
namespace {

// Runs of fewer rows, on average, are copied row by row.
constexpr size_t kShortRunRows = 4;

bool IsList(const SourceField& field) {
  return field.shape.size() == 1 && field.shape[0] == kUnknownDim;
}

const int64_t* Int64s(const Buffer& buffer) {
  return reinterpret_cast<const int64_t*>(buffer.data());
}

// Rows of decoded groups, one by one. In a shuffle, neighbours lie in different
// groups, so the rows are gathered without a branch that depends on them, and
// their memory is prefetched.
class RowList {
 public:
  static constexpr size_t kAhead = 16;  // rows

  RowList(std::span<const ColumnarRun> runs, size_t rows) : size_(rows) {
    rows_.reserve(rows + kAhead);
    numbers_.reserve(rows + kAhead);
    for (const ColumnarRun& run : runs) {
      const uint32_t number = NumberOf(run.group);
      for (size_t row = run.first; row < run.first + run.count; ++row) {
        rows_.push_back(row);
        numbers_.push_back(number);
      }
    }
    rows_.resize(rows + kAhead);
    numbers_.resize(rows + kAhead);
  }

  size_t size() const { return size_; }
  bool one_group() const { return groups_.size() == 1; }
  // Row k, and the number of its group. There are kAhead more, of any value.
  const size_t* rows() const { return rows_.data(); }
  const uint32_t* numbers() const { return numbers_.data(); }
  // Returns one buffer of column c of each group, by number.
  template <class T>
  std::vector<const T*> Buffers(size_t c, Buffer Column::*buffer) const {
    std::vector<const T*> all;
    all.reserve(groups_.size());
    for (const DecodedGroup* const group : groups_) {
      all.push_back(reinterpret_cast<const T*>(
          (group->columns[c].column.*buffer).data()));
    }
    return all;
  }

 private:
  // A group may get several numbers.
  uint32_t NumberOf(const DecodedGroup* group) {
    if (group == last_) return last_number_;
    const auto address = reinterpret_cast<uintptr_t>(group);
    uint32_t& number = known_[address / alignof(DecodedGroup) % kKnown];
    if (number >= groups_.size() || groups_[number] != group) {
      number = static_cast<uint32_t>(groups_.size());
      groups_.push_back(group);
    }
    last_ = group;
    return last_number_ = number;
  }

  static constexpr size_t kKnown = 256;
  const size_t size_;
  std::array<uint32_t, kKnown> known_{};  // by address
  const DecodedGroup* last_ = nullptr;
  uint32_t last_number_ = 0;
  std::vector<const DecodedGroup*> groups_;
  std::vector<size_t> rows_;
  std::vector<uint32_t> numbers_;
};

template <class T>
void GatherFixed(const RowList& list, size_t c, std::byte* bytes) {
  const auto values = list.Buffers<T>(c, &Column::values);
  auto* const to = reinterpret_cast<T*>(bytes);
  const size_t* const rows = list.rows();
  const size_t size = list.size();
  if (list.one_group()) {
    const T* const from = values[0];
    for (size_t k = 0; k < size; ++k) {
      __builtin_prefetch(from + rows[k + RowList::kAhead]);
      to[k] = from[rows[k]];
    }
    return;
  }
  const uint32_t* const numbers = list.numbers();
  for (size_t k = 0; k < size; ++k) {
    const size_t ahead = k + RowList::kAhead;
    __builtin_prefetch(values[numbers[ahead]] + rows[ahead]);
    to[k] = values[numbers[k]][rows[k]];
  }
}

void GatherWide(const RowList& list, size_t c, size_t width, std::byte* to) {
  const auto values = list.Buffers<std::byte>(c, &Column::values);
  const size_t ahead_bytes = std::min(width, kPrefetchedBytesMax);
  const size_t* const rows = list.rows();
  const uint32_t* const numbers = list.numbers();
  for (size_t k = 0; k < list.size(); ++k) {
    const size_t ahead = k + RowList::kAhead;
    PrefetchToRead(values[numbers[ahead]] + rows[ahead] * width, ahead_bytes);
    std::memcpy(to + k * width, values[numbers[k]] + rows[k] * width, width);
  }
}

void GatherFixedRows(const RowList& rows, size_t c, size_t width,
                     OutputColumn& out) {
  std::byte* const to = out.values.Extend(rows.size() * width);
  switch (width) {
    case 0:
      return;
    case 1:
      return GatherFixed<uint8_t>(rows, c, to);
    case 2:
      return GatherFixed<uint16_t>(rows, c, to);
    case 4:
      return GatherFixed<uint32_t>(rows, c, to);
    case 8:
      return GatherFixed<uint64_t>(rows, c, to);
    default:
      return GatherWide(rows, c, width, to);
  }
}

// Gathers scalar strings.
void GatherBytes(const RowList& list, size_t c, OutputColumn& out) {
  const auto offsets = list.Buffers<int64_t>(c, &Column::offsets);
  const auto values = list.Buffers<std::byte>(c, &Column::values);
  const size_t* const rows = list.rows();
  const uint32_t* const numbers = list.numbers();
  struct Text {
    const std::byte* from = nullptr;
    size_t size = 0;
  };
  std::vector<Text> texts(list.size() + RowList::kAhead);
  size_t bytes = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    const size_t ahead = k + RowList::kAhead;
    __builtin_prefetch(offsets[numbers[ahead]] + rows[ahead]);
    const int64_t* const own = offsets[numbers[k]] + rows[k];
    texts[k] = {values[numbers[k]] + own[0],
                static_cast<size_t>(own[1] - own[0])};
    bytes += texts[k].size;
  }
  std::byte* to = out.values.Extend(bytes);
  auto* const ends = reinterpret_cast<int64_t*>(
      out.offsets.Extend(list.size() * sizeof(int64_t)));
  int64_t end = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    __builtin_prefetch(texts[k + RowList::kAhead].from);
    if (texts[k].size > 0) std::memcpy(to, texts[k].from, texts[k].size);
    to += texts[k].size;
    end += static_cast<int64_t>(texts[k].size);
    ends[k] = end;
  }
}

// Copies rows of `width` bytes, run by run.
void CopyFixed(std::span<const ColumnarRun> runs, size_t c, size_t width,
               OutputColumn& out) {
  size_t rows = 0;
  for (const ColumnarRun& run : runs) rows += run.count;
  std::byte* to = out.values.Extend(rows * width);
  for (const ColumnarRun& run : runs) {
    const size_t bytes = run.count * width;
    if (bytes == 0) continue;
    const Column& column = run.group->columns[c].column;
    std::memcpy(to, column.values.data() + run.first * width, bytes);
    to += bytes;
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

// Returns `numbers` minus the first one.
Buffer FromZero(std::span<const int64_t> numbers) {
  BufferBuilder out(numbers.size_bytes());
  for (const int64_t number : numbers) out.Push(number - numbers.front());
  return std::move(out).Freeze();
}

// Returns rows [first, first + count) of a decoded column.
Column ViewRows(const Column& from, size_t first, size_t count,
                const SourceField& field) {
  Column view{from.dtype, field.shape, {}, {}, {}, {}};
  int64_t begin = 0;
  int64_t end = 0;
  if (IsList(field)) {
    const auto starts = from.row_starts.As<int64_t>().subspan(first, count + 1);
    begin = starts.front();
    end = starts.back();
    view.row_starts = FromZero(starts);
    BufferBuilder shapes(count * sizeof(int64_t));
    for (size_t row = 0; row < count; ++row) {
      shapes.Push(starts[row + 1] - starts[row]);
    }
    view.row_shapes = std::move(shapes).Freeze();
  } else {
    const int64_t items = NumItems(field.shape);
    begin = static_cast<int64_t>(first) * items;
    end = static_cast<int64_t>(first + count) * items;
  }
  size_t size = 1;
  if (from.dtype == DType::kBytes) {
    const auto offsets = from.offsets.As<int64_t>().subspan(
        static_cast<size_t>(begin), static_cast<size_t>(end - begin) + 1);
    begin = offsets.front();
    end = offsets.back();
    view.offsets = FromZero(offsets);
  } else {
    size = ItemSize(from.dtype);
  }
  view.values = from.values.Slice(static_cast<size_t>(begin) * size,
                                  static_cast<size_t>(end - begin) * size);
  return view;
}

// `rows`: the rows of `runs`, or null if most runs have several rows.
void CopyColumn(std::span<const ColumnarRun> runs, const RowList* rows,
                size_t c, const SourceField& field, OutputColumn& out) {
  if (IsList(field)) {
    for (const ColumnarRun& run : runs) {
      AppendLists(run.group->columns[c].column, run.first, run.count, out);
    }
    return;
  }
  if (field.dtype != DType::kBytes) {
    const size_t width = FixedRowBytes(field);
    return rows != nullptr ? GatherFixedRows(*rows, c, width, out)
                           : CopyFixed(runs, c, width, out);
  }
  if (rows != nullptr && field.shape.empty()) return GatherBytes(*rows, c, out);
  const int64_t items = NumItems(field.shape);
  for (const ColumnarRun& run : runs) {
    const auto begin = static_cast<int64_t>(run.first) * items;
    AppendItems(run.group->columns[c].column, begin,
                begin + static_cast<int64_t>(run.count) * items, out);
  }
}

}  // namespace

std::vector<Column> ViewRun(const ColumnarRun& run,
                            std::span<const SourceField> fields) {
  std::vector<Column> views;
  for (size_t c = 0; c < fields.size(); ++c) {
    views.push_back(ViewRows(run.group->columns[c].column, run.first, run.count,
                             fields[c]));
  }
  return views;
}

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
              std::vector<EncodedColumn>& out) {
  out.resize(fields.size());
  size_t rows = 0;
  for (const ColumnarRun& run : runs) rows += run.count;
  std::optional<RowList> single;
  if (rows > 0 && rows < kShortRunRows * runs.size())
    single.emplace(runs, rows);
  for (size_t c = 0; c < fields.size(); ++c) {
    out[c].Reset(fields[c].dtype, fields[c].shape);
    CopyColumn(runs, single ? &*single : nullptr, c, fields[c], out[c]);
  }
}

}  // namespace feedmill
