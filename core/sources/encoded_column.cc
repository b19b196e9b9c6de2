#include "core/sources/encoded_column.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace feedmill {
namespace {

void Append(const Buffer& from, BufferBuilder& to) {
  to.Append(from.data(), from.size());
}

}  // namespace

void EncodedColumn::Reset(DType new_dtype, const Shape& new_shape) {
  if (memory_ != Memory::kOwn) shown_ = {};
  memory_ = Memory::kOwn;
  encoding_ = {};
  OutputColumn::Reset(new_dtype, new_shape);
  if (dtype == DType::kBytes) offsets.Push(int64_t{0});
  if (std::ranges::count(shape, kUnknownDim) > 0) row_starts.Push(int64_t{0});
}

void EncodedColumn::SetSequence(uint64_t first, uint64_t step) {
  Reset(DType::kInt64, {});
  encoding_ = {.kind = Encoding::kSequence, .first = first, .step = step};
}

void EncodedColumn::Show(Column column, Memory memory) {
  memory_ = memory;
  encoding_ = {};
  shown_ = std::move(column);
}

bool EncodedColumn::CanTake() const {
  return memory_ == Memory::kOwn || shown_.values.owner() != nullptr;
}

Column EncodedColumn::Take() {
  return memory_ == Memory::kOwn ? OutputColumn::Take() : std::move(shown_);
}

void EncodedColumn::MakePlain(size_t rows) {
  switch (encoding_.kind) {
    case Encoding::kPlain:
      break;
    case Encoding::kSequence:
      encoding_.Fill(
          reinterpret_cast<uint64_t*>(values.Extend(rows * sizeof(uint64_t))),
          rows);
      break;
    case Encoding::kTrailing:
      CloseGaps(rows);
      break;
  }
  encoding_ = {};
  if (memory_ == Memory::kOwn) return;
  const Column from = std::exchange(shown_, {});
  memory_ = Memory::kOwn;
  OutputColumn::Reset(from.dtype, from.shape);
  Append(from.values, values);
  Append(from.offsets, offsets);
  Append(from.row_shapes, row_shapes);
  Append(from.row_starts, row_starts);
}

void EncodedColumn::CloseGaps(size_t rows) {
  auto* const starts = offsets.As<int64_t>();
  std::byte* to = values.data();
  for (size_t row = 0, begin = static_cast<size_t>(starts[0]); row < rows;
       ++row) {
    const auto end = static_cast<size_t>(starts[row + 1]);
    const size_t size = end - encoding_.trailing - begin;
    std::memmove(to, values.data() + begin, size);
    starts[row] = to - values.data();
    to += size;
    begin = end;
  }
  starts[rows] = to - values.data();
  values.Truncate(static_cast<size_t>(starts[rows]));
}

void EncodedColumn::Truncate(size_t rows) {
  const auto items = static_cast<size_t>(View().RowStart(rows));
  const size_t bytes = BytesOf(rows);
  const auto cut = [this](BufferBuilder& own, Buffer& shown, size_t size) {
    if (memory_ == Memory::kOwn) {
      own.Truncate(size);
    } else if (shown.size() > size) {
      shown = shown.Slice(0, size);
    }
  };
  constexpr size_t kOffset = sizeof(int64_t);
  cut(values, shown_.values, bytes);
  cut(offsets, shown_.offsets, (items + 1) * kOffset);
  cut(row_starts, shown_.row_starts, (rows + 1) * kOffset);
  cut(row_shapes, shown_.row_shapes, rows * View().shape.size() * kOffset);
}

size_t EncodedColumn::BytesOf(size_t rows) {
  const Column& all = View();
  const auto items = static_cast<size_t>(all.RowStart(rows));
  return all.dtype == DType::kBytes
             ? static_cast<size_t>(all.offsets.As<int64_t>()[items])
             : items * ItemSize(all.dtype);
}

}  // namespace feedmill
