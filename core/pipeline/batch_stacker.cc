#include "core/pipeline/batch_stacker.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/byte_budget.h"
#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/chunk_builder.h"
#include "core/pipeline/stacking.h"

namespace feedmill {
namespace {

constexpr int64_t kBatchItemsMax = int64_t{1} << 33;
constexpr size_t kRankMax = 32;

using Dims = std::span<const int64_t>;

// Returns the product of `dims`; -1 if it exceeds kBatchItemsMax.
int64_t BoundedItems(Dims dims) {
  int64_t items = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(items, dim, &items) || items > kBatchItemsMax) {
      return -1;
    }
  }
  return items;
}

template <class T>
void FillWith(double value, int64_t items, std::byte* to) {
  std::fill_n(reinterpret_cast<T*>(to), items, static_cast<T>(value));
}

void Fill(DType dtype, double value, int64_t items, std::byte* to) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return FillWith<uint8_t>(value, items, to);
    case DType::kInt8:
      return FillWith<int8_t>(value, items, to);
    case DType::kInt16:
      return FillWith<int16_t>(value, items, to);
    case DType::kInt32:
      return FillWith<int32_t>(value, items, to);
    case DType::kInt64:
      return FillWith<int64_t>(value, items, to);
    case DType::kUInt16:
      return FillWith<uint16_t>(value, items, to);
    case DType::kUInt32:
      return FillWith<uint32_t>(value, items, to);
    case DType::kUInt64:
      return FillWith<uint64_t>(value, items, to);
    case DType::kFloat32:
      return FillWith<float>(value, items, to);
    case DType::kFloat64:
      return FillWith<double>(value, items, to);
    case DType::kFloat16:
      return FillWith<Float16>(value, items, to);
    case DType::kBFloat16:
      return FillWith<BFloat16>(value, items, to);
    case DType::kBytes:
      return;
  }
}

// Collects the rows of one output column, of any shapes.
class RowsOut {
 public:
  RowsOut(DType dtype, size_t rank, double fill)
      : dtype_(dtype),
        fill_(fill),
        builder_(std::make_shared<const ElementSpec>(
            ElementSpec{{{"", dtype, Shape(rank, kUnknownDim)}}})) {}

  // Begins a row of that shape, filled with `fill`, for Put.
  void Begin(const Shape& shape) {
    const int64_t items = NumItems(shape);
    shape_ = shape;
    if (dtype_ == DType::kBytes) {
      ByteBudget::Check(static_cast<uint64_t>(items), sizeof(int64_t));
      texts_.assign(static_cast<size_t>(items), {});
      return;
    }
    to_ = builder_.AppendRow(0, shape);
    Fill(dtype_, fill_, items, to_);
  }

  // Copies items [first, first + count) of `from` to item `at` of the row.
  void Put(const Column& from, int64_t first, int64_t count, int64_t at) {
    if (dtype_ == DType::kBytes) {
      for (int64_t k = 0; k < count; ++k) {
        texts_[static_cast<size_t>(at + k)] = from.BytesAt(first + k);
      }
      return;
    }
    const size_t size = ItemSize(dtype_);
    if (count > 0) {
      std::memcpy(to_ + static_cast<size_t>(at) * size,
                  from.values.data() + static_cast<size_t>(first) * size,
                  static_cast<size_t>(count) * size);
    }
  }

  void End() {
    if (dtype_ == DType::kBytes) builder_.AppendBytesRow(0, shape_, texts_);
    builder_.FinishRows(1);
  }

  Column Finish() && { return std::move(builder_).Finish().columns[0]; }

 private:
  const DType dtype_;
  const double fill_;
  ChunkBuilder builder_;
  Shape shape_;
  std::byte* to_ = nullptr;
  std::vector<std::string_view> texts_;
};

// Calls put(source item, target item, count) for each run of items along the
// last axis. The source is an array of `dims` in the first corner of an array
// of `target`.
template <class F>
void ForEachLine(Dims dims, Dims target, F&& put) {
  const size_t rank = dims.size();
  FM_CHECK(rank <= kRankMax);
  if (rank == 0) return put(0, 0, 1);
  if (std::count(dims.begin(), dims.end(), 0) > 0) return;
  std::array<int64_t, kRankMax> at{};
  for (int64_t source = 0;; source += dims.back()) {
    int64_t to = 0;
    for (size_t d = 0; d + 1 < rank; ++d) to = (to + at[d]) * target[d + 1];
    put(source, to, dims.back());
    size_t d = rank - 1;
    while (d > 0 && ++at[d - 1] == dims[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

// Computes the shape to which rows [begin, end) are padded. DataLoss if a row
// is longer.
absl::Status TargetOf(const Column& rows, size_t begin, size_t end,
                      const Shape& wanted, Shape& target) {
  target = wanted;
  for (size_t row = begin; row < end; ++row) {
    const Dims dims = rows.RowDims(row);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (wanted[d] == kUnknownDim) {
        target[d] = std::max(target[d], dims[d]);
      } else if (dims[d] > wanted[d]) {
        return DataLoss(
            "a row of shape {} is longer than the {} to which it is padded; "
            "slice or filter it before",
            ShapeToString(rows.RowShape(row)), ShapeToString(wanted));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status TooLarge(const Shape& shape) {
  return DataLoss("a batch of shape {} is too large (at most {} items)",
                  ShapeToString(shape), kBatchItemsMax);
}

absl::Status PadRows(const Column& rows, std::span<const size_t> groups,
                     const Shape& wanted, double fill, Column& out,
                     size_t& failed_group) {
  RowsOut made(rows.dtype, wanted.size() + 1, fill);
  size_t begin = 0;
  for (size_t k = 0; k < groups.size(); ++k) {
    const size_t end = begin + groups[k];
    failed_group = k;
    Shape target;
    FM_RETURN_IF_ERROR(TargetOf(rows, begin, end, wanted, target));
    const int64_t each = BoundedItems(target);
    Shape shape{static_cast<int64_t>(groups[k])};
    shape.insert(shape.end(), target.begin(), target.end());
    if (each < 0 || BoundedItems(shape) < 0) return TooLarge(shape);
    made.Begin(shape);
    for (size_t row = begin; row < end; ++row) {
      const int64_t first = rows.RowStart(row);
      const int64_t to = static_cast<int64_t>(row - begin) * each;
      ForEachLine(rows.RowDims(row), target,
                  [&](int64_t from, int64_t at, int64_t count) {
                    made.Put(rows, first + from, count, to + at);
                  });
    }
    made.End();
    begin = end;
  }
  out = std::move(made).Finish();
  return absl::OkStatus();
}

// Checks that rows [begin, end) differ in their first dimension only.
absl::Status CheckJoinable(const Column& rows, size_t begin, size_t end) {
  const Dims first = rows.RowDims(begin).subspan(1);
  for (size_t row = begin + 1; row < end; ++row) {
    if (!std::ranges::equal(first, rows.RowDims(row).subspan(1))) {
      return DataLoss(
          "rows of a ragged batch differ beyond their first dimension: {} and "
          "{}",
          ShapeToString(rows.RowShape(begin)),
          ShapeToString(rows.RowShape(row)));
    }
  }
  return absl::OkStatus();
}

// Joins each group's rows along the first axis. Their items are adjacent
// already. `offsets` receives where each row begins.
absl::Status JoinRows(const Column& rows, std::span<const size_t> groups,
                      Column& out, Column& offsets, size_t& failed_group) {
  out.dtype = rows.dtype;
  out.shape.assign(rows.shape.size(), kUnknownDim);
  out.values = rows.values;
  out.offsets = rows.offsets;
  BufferBuilder shapes;
  BufferBuilder starts;
  starts.Push(rows.RowStart(0));
  RowsOut ends(DType::kInt64, 1, 0);
  size_t begin = 0;
  for (size_t k = 0; k < groups.size(); ++k) {
    const size_t end = begin + groups[k];
    failed_group = k;
    FM_RETURN_IF_ERROR(CheckJoinable(rows, begin, end));
    std::vector<int64_t> places = {0};
    for (size_t row = begin; row < end; ++row) {
      places.push_back(places.back() + rows.RowDims(row)[0]);
    }
    shapes.Push(places.back());
    const Dims rest = rows.RowDims(begin).subspan(1);
    shapes.Append(rest.data(), rest.size_bytes());
    starts.Push(rows.RowStart(end));
    ends.Begin({static_cast<int64_t>(places.size())});
    ends.Put(MakeColumn(places), 0, static_cast<int64_t>(places.size()), 0);
    ends.End();
    begin = end;
  }
  out.row_shapes = std::move(shapes).Freeze();
  out.row_starts = std::move(starts).Freeze();
  offsets = std::move(ends).Finish();
  return absl::OkStatus();
}

}  // namespace

BatchStacker::BatchStacker(BatchLayout layout,
                           const std::vector<Padding>& padding,
                           const ElementSpec& input)
    : layout_(layout) {
  for (const ComponentSpec& c : input.components) {
    Component& component = components_.emplace_back();
    component.name = c.name;
    component.target.assign(c.shape.size(), kUnknownDim);
    component.joined = layout == BatchLayout::kRagged && !c.shape.empty();
    for (const Padding& p : padding) {
      if (p.component != c.name && !c.name.empty()) continue;
      component.fill = p.value;
      if (p.shape) component.target = *p.shape;
    }
  }
}

absl::Status BatchStacker::Stack(std::span<const Column* const> rows,
                                 std::span<const size_t> groups,
                                 std::vector<Column>& out,
                                 size_t& failed_group) const {
  FM_CHECK(rows.size() == components_.size());
  out.clear();
  for (size_t c = 0; c < rows.size(); ++c) {
    const absl::Status status =
        StackComponent(c, *rows[c], groups, out, failed_group);
    if (!status.ok()) return OfComponent(status, components_[c].name);
  }
  return absl::OkStatus();
}

absl::Status BatchStacker::StackComponent(size_t c, const Column& rows,
                                          std::span<const size_t> groups,
                                          std::vector<Column>& out,
                                          size_t& failed_group) const {
  const Component& component = components_[c];
  Column& made = out.emplace_back();
  if (component.joined) {
    Column offsets;
    FM_RETURN_IF_ERROR(JoinRows(rows, groups, made, offsets, failed_group));
    out.push_back(std::move(offsets));
    return absl::OkStatus();
  }
  if (layout_ == BatchLayout::kPadded) {
    return PadRows(rows, groups, component.target, component.fill, made,
                   failed_group);
  }
  return StackRows(rows, groups, made, failed_group);
}

absl::Status BatchStacker::Stack(const Chunk& rows,
                                 std::span<const size_t> groups,
                                 std::shared_ptr<const ElementSpec> spec,
                                 Chunk& out, size_t& count) const {
  absl::Status error;
  count = groups.size();
  Chunk part = rows;
  while (count > 0) {
    size_t used = 0;
    for (const size_t group : groups.first(count)) used += group;
    if (part.rows > used) part = part.Slice(0, used);
    std::vector<const Column*> columns;
    for (const Column& column : part.columns) columns.push_back(&column);
    out = Chunk{spec, count, {}};
    size_t failed = 0;
    const absl::Status status =
        Stack(columns, groups.first(count), out.columns, failed);
    if (status.ok()) return error;
    error = status;
    count = failed;  // another column may fail earlier
  }
  out = Chunk{std::move(spec), 0, {}};
  return error;
}

absl::Status PackRows(const Column& rows, std::span<const size_t> groups,
                      int64_t length, int64_t align, double fill, Column& out,
                      size_t& failed_group) {
  RowsOut made(rows.dtype, rows.shape.size(), fill);
  size_t begin = 0;
  for (size_t k = 0; k < groups.size(); ++k) {
    const size_t end = begin + groups[k];
    failed_group = k;
    FM_RETURN_IF_ERROR(CheckJoinable(rows, begin, end));
    const Dims dims = rows.RowDims(begin);
    Shape shape(dims.begin(), dims.end());
    shape[0] = length;
    if (BoundedItems(shape) < 0) return TooLarge(shape);
    made.Begin(shape);
    const int64_t first = rows.RowStart(begin);
    if (align == 1) {
      made.Put(rows, first, rows.RowStart(end) - first, 0);
    } else {
      const int64_t each = NumItems(shape) / length;
      int64_t at = 0;
      for (size_t row = begin; row < end; ++row) {
        made.Put(rows, rows.RowStart(row), rows.RowItems(row), at * each);
        at += (rows.RowDims(row)[0] + align - 1) / align * align;
      }
    }
    made.End();
    begin = end;
  }
  out = std::move(made).Finish();
  return absl::OkStatus();
}

}  // namespace feedmill
