#include "core/python/column_layout.h"

#include <cstring>
#include <string_view>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kWordsEach = 7;  // of a column, besides its dimensions
constexpr size_t kResultWordsEach = 4;

size_t Aligned(size_t size) {
  return (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

absl::Status Broken(std::string_view what) {
  return Internal("the Python process broke the layout of results: {}", what);
}

// True if [at, at + size) lies in the memory and `at` is aligned.
bool Holds(std::span<const std::byte> memory, int64_t at, uint64_t size) {
  return at >= 0 && static_cast<uint64_t>(at) <= memory.size() &&
         static_cast<uint64_t>(at) % sizeof(int64_t) == 0 &&
         size <= memory.size() - static_cast<uint64_t>(at);
}

}  // namespace

RequestLayout::RequestLayout(std::span<const Column* const> columns,
                             size_t begin, size_t rows) {
  size_t count = 1;
  for (const Column* column : columns) {
    count += kWordsEach + column->shape.size();
  }
  words_.reserve(count);
  bytes_ = Aligned(count * sizeof(int64_t));
  words_.push_back(static_cast<int64_t>(rows));
  for (const Column* column : columns) Add(*column, begin, rows);
}

size_t RequestLayout::Place(size_t size) {
  const size_t at = bytes_;
  bytes_ = Aligned(bytes_ + size);
  return at;
}

int64_t RequestLayout::PlaceRebased(std::span<const int64_t> from) {
  const size_t at = Place(from.size_bytes());
  rebased_.push_back({from, from.front(), at});
  return static_cast<int64_t>(at);
}

void RequestLayout::Add(const Column& column, size_t begin, size_t rows) {
  const int64_t first = column.RowStart(begin);
  const int64_t last =
      column.RowStart(begin + rows - 1) + column.RowItems(begin + rows - 1);
  const auto at = static_cast<size_t>(first);
  const auto count = static_cast<size_t>(last - first);
  const size_t rank = column.shape.size();
  int64_t offsets = -1;
  int64_t shapes = -1;
  int64_t starts = -1;
  Copy values{};
  if (column.dtype == DType::kBytes) {
    const auto all = column.offsets.As<int64_t>().subspan(at, count + 1);
    values.from = column.values.data() + all.front();
    values.size = static_cast<size_t>(all.back() - all.front());
    offsets = PlaceRebased(all);
  } else {
    const size_t size = ItemSize(column.dtype);
    values.from = column.values.data() + at * size;
    values.size = count * size;
  }
  values.to = Place(values.size);
  copies_.push_back(values);
  if (column.ragged()) {
    starts =
        PlaceRebased(column.row_starts.As<int64_t>().subspan(begin, rows + 1));
    const size_t size = rows * rank * sizeof(int64_t);
    const size_t to = Place(size);
    copies_.push_back(
        {column.row_shapes.data() + begin * rank * sizeof(int64_t), size, to});
    shapes = static_cast<int64_t>(to);
  }
  for (const int64_t word :
       {static_cast<int64_t>(rank), int64_t{column.ragged()},
        static_cast<int64_t>(values.to), static_cast<int64_t>(count), offsets,
        shapes, starts}) {
    words_.push_back(word);
  }
  words_.insert(words_.end(), column.shape.begin(), column.shape.end());
}

void RequestLayout::WriteTo(std::byte* to) const {
  std::memcpy(to, words_.data(), words_.size() * sizeof(int64_t));
  for (const Copy& copy : copies_) {
    if (copy.size > 0) std::memcpy(to + copy.to, copy.from, copy.size);
  }
  for (const Rebased& rebased : rebased_) {
    auto* at = reinterpret_cast<int64_t*>(to + rebased.to);
    for (const int64_t value : rebased.from) *at++ = value - rebased.less;
  }
}

void ResultRows::Begin(const ComponentSpec& component, OutputColumn* out) {
  component_ = &component;
  out_ = out;
  fixed_ = component.IsStatic();
  rows_ = 0;
  dims_.clear();
  if (out == nullptr) return;
  out->Reset(component.dtype, component.shape);
  if (component.dtype == DType::kBytes) out->offsets.Push(int64_t{0});
}

absl::Status ResultRows::Append(std::span<const std::byte> memory, size_t index,
                                size_t rows) {
  if (out_ == nullptr) return absl::OkStatus();
  // The process may still write there: each word is read once.
  int64_t head[kResultWordsEach];
  const size_t at = sizeof(int64_t) + index * sizeof head;
  if (memory.size() < at + sizeof head) return Broken("it has no head");
  std::memcpy(head, memory.data() + at, sizeof head);
  int64_t items = 0;
  if (fixed_) {
    items = static_cast<int64_t>(rows) * NumItems(component_->shape);
  } else {
    const size_t rank = component_->shape.size();
    const size_t size = rows * rank * sizeof(int64_t);
    if (!Holds(memory, head[3], size)) return Broken("shapes");
    const size_t before = dims_.size();
    dims_.resize(before + rows * rank);
    std::memcpy(dims_.data() + before, memory.data() + head[3], size);
    for (size_t row = 0; row < rows; ++row) {
      int64_t each = 1;
      for (size_t k = 0; k < rank; ++k) {
        const int64_t dim = dims_[before + row * rank + k];
        const int64_t declared = component_->shape[k];
        if (dim < 0 || (declared != kUnknownDim && declared != dim) ||
            __builtin_mul_overflow(each, dim, &each)) {
          return Broken("a shape");
        }
      }
      if (__builtin_add_overflow(items, each, &items)) return Broken("a shape");
    }
  }
  rows_ += rows;
  return AppendItems(memory, head, items);
}

absl::Status ResultRows::AppendItems(std::span<const std::byte> memory,
                                     std::span<const int64_t> head,
                                     int64_t items) {
  const int64_t size = head[0];
  if (size < 0 || !Holds(memory, head[1], static_cast<uint64_t>(size))) {
    return Broken("values");
  }
  if (component_->dtype != DType::kBytes) {
    int64_t expected = 0;
    if (__builtin_mul_overflow(
            items, static_cast<int64_t>(ItemSize(component_->dtype)),
            &expected) ||
        expected != size) {
      return Broken("the number of items");
    }
  } else {
    const auto count = static_cast<size_t>(items) + 1;
    if (static_cast<uint64_t>(items) > memory.size() ||
        !Holds(memory, head[2], count * sizeof(int64_t))) {
      return Broken("offsets");
    }
    const auto base = static_cast<int64_t>(out_->values.size());
    int64_t before = 0;
    for (size_t k = 0; k < count; ++k) {
      int64_t end = 0;
      std::memcpy(
          &end, memory.data() + head[2] + static_cast<int64_t>(k * sizeof end),
          sizeof end);
      if (end < before || end > size || (k == 0 && end != 0)) {
        return Broken("an offset");
      }
      before = end;
      if (k > 0) out_->offsets.Push(base + end);
    }
    if (before != size) return Broken("the last offset");
  }
  out_->values.Append(memory.data() + head[1], static_cast<size_t>(size));
  return absl::OkStatus();
}

void ResultRows::Finish() {
  if (out_ == nullptr || fixed_) return;
  const size_t rank = component_->shape.size();
  const auto first = std::span(dims_).first(rank);
  bool same = true;
  for (size_t row = 1; row < rows_; ++row) {
    const auto dims = std::span(dims_).subspan(row * rank, rank);
    for (size_t k = 0; k < rank; ++k) {
      if (dims[k] == first[k]) continue;
      same = false;
    }
  }
  if (same) {
    out_->shape.assign(first.begin(), first.end());
    return;
  }
  int64_t start = 0;
  out_->row_starts.Push(start);
  for (size_t row = 0; row < rows_; ++row) {
    int64_t items = 1;
    for (size_t k = 0; k < rank; ++k) {
      const int64_t dim = dims_[row * rank + k];
      out_->row_shapes.Push(dim);
      items *= dim;
    }
    start += items;
    out_->row_starts.Push(start);
  }
}

}  // namespace feedmill
