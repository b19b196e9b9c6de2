#include "core/ops/strided_view.h"

#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

// Copies `count` runs of kBytes each; runs begin `stride` bytes apart.
template <size_t kBytes>
void CopyRuns(const std::byte* from, int64_t stride, int64_t count,
              std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * kBytes, from + i * stride,
                kBytes);
  }
}

// A view with as few axes as possible: runs of adjacent items, rows of such
// runs, and the outer axes.
struct Walk {
  Shape dims;  // outer axes
  Shape strides;
  int64_t offset = 0;
  int64_t run = 1;       // adjacent items
  int64_t runs = 1;      // per row
  int64_t distance = 0;  // between runs, in items
  int64_t items = 1;     // in total
};

Walk Simplify(const StridedView& view) {
  Walk walk;
  walk.offset = view.offset;
  walk.items = Product(view.dims);
  for (size_t axis = 0; axis < view.dims.size(); ++axis) {
    const int64_t dim = view.dims[axis];
    const int64_t stride = view.strides[axis];
    if (dim == 1) continue;
    if (!walk.dims.empty() && walk.strides.back() == stride * dim) {
      walk.dims.back() *= dim;
      walk.strides.back() = stride;
      continue;
    }
    walk.dims.push_back(dim);
    walk.strides.push_back(stride);
  }
  if (!walk.dims.empty() && walk.strides.back() == 1) {
    walk.run = walk.dims.back();
    walk.dims.pop_back();
    walk.strides.pop_back();
  }
  if (!walk.dims.empty()) {
    walk.runs = walk.dims.back();
    walk.distance = walk.strides.back();
    walk.dims.pop_back();
    walk.strides.pop_back();
  }
  return walk;
}

// Calls row(first item) for every row of runs, in order. `index` is scratch
// memory.
template <class F>
void ForEachRow(const Walk& walk, Shape& index, const F& row) {
  index.assign(walk.dims.size(), 0);
  int64_t at = walk.offset;
  while (true) {
    row(at);
    size_t axis = walk.dims.size();
    while (axis > 0) {
      --axis;
      at += walk.strides[axis];
      if (++index[axis] < walk.dims[axis]) break;
      at -= walk.strides[axis] * walk.dims[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (walk.dims.empty()) return;
  }
}

void CopyRow(const Column& from, int64_t start, const Walk& walk, Shape& index,
             OutputColumn& out) {
  if (walk.items == 0) return;
  if (from.dtype == DType::kBytes) {
    ForEachRow(walk, index, [&](int64_t at) {
      for (int64_t k = 0; k < walk.runs; ++k) {
        AppendItems(from, start + at + k * walk.distance, walk.run, out);
      }
    });
    return;
  }
  const auto size = static_cast<int64_t>(ItemSize(from.dtype));
  const std::byte* items = from.values.data() + start * size;
  std::byte* to = out.values.Extend(static_cast<size_t>(walk.items * size));
  ForEachRow(walk, index, [&](int64_t at) {
    CopyRunsOf(static_cast<size_t>(walk.run * size), items + at * size,
               walk.distance * size, walk.runs, to);
    to += walk.runs * walk.run * size;
  });
}

}  // namespace

// Runs whose size is known at compile time are moved in registers.
void CopyRunsOf(size_t bytes, const std::byte* from, int64_t stride,
                int64_t count, std::byte* to) {
  switch (bytes) {
    case 1:
      return CopyRuns<1>(from, stride, count, to);
    case 2:
      return CopyRuns<2>(from, stride, count, to);
    case 3:
      return CopyRuns<3>(from, stride, count, to);
    case 4:
      return CopyRuns<4>(from, stride, count, to);
    case 8:
      return CopyRuns<8>(from, stride, count, to);
    case 12:
      return CopyRuns<12>(from, stride, count, to);
    default:
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + static_cast<size_t>(i) * bytes, from + i * stride,
                    bytes);
      }
  }
}

StridedView StridedView::Whole(std::span<const int64_t> whole) {
  StridedView view;
  view.dims.assign(whole.begin(), whole.end());
  view.strides.assign(whole.size(), 1);
  int64_t stride = 1;
  for (size_t axis = whole.size(); axis-- > 0;) {
    view.strides[axis] = stride;
    stride *= whole[axis];
  }
  return view;
}

void StridedView::Narrow(size_t axis, int64_t begin, int64_t size) {
  offset += begin * strides[axis];
  dims[axis] = size;
}

void StridedView::Reverse(size_t axis) {
  offset += (dims[axis] - 1) * strides[axis];
  strides[axis] = -strides[axis];
}

void StridedView::Permute(std::span<const size_t> order) {
  const StridedView old = *this;
  for (size_t axis = 0; axis < order.size(); ++axis) {
    dims[axis] = old.dims[order[axis]];
    strides[axis] = old.strides[order[axis]];
  }
}

absl::Status ComputeView(const ViewFunction& view, const MergeDims& merge,
                         std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  std::vector<const ValueType*> types;
  for (const Argument& argument : arguments) types.push_back(argument.type);
  Shape index;
  Shape dims;
  Walk walk;
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    if (row == 0 || from.ragged()) {
      auto made = view(types, from.RowDims(from_row));
      if (!made.ok()) {
        out.failed_row = row;
        return AsDataLoss(made.status());
      }
      walk = Simplify(*made);
      dims = merge(std::move(made->dims));
      if (row == 0 && !ragged) out.shape = dims;
    }
    CopyRow(from, from.RowStart(from_row), walk, index, out);
    if (ragged) EndRaggedRow(dims, out);
  }
  return absl::OkStatus();
}

absl::Status ComputeView(const ViewFunction& view,
                         std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  return ComputeView(
      view, [](Shape dims) { return dims; }, arguments, rows, type, out);
}

FunctionRegistry::Function MakeViewFunction(ViewFunction view) {
  FunctionRegistry::Function function;
  function.infer =
      [view](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    if (given.empty()) return InvalidArgument("it takes a value");
    std::vector<const ValueType*> types;
    for (const ValueType& type : given) types.push_back(&type);
    FM_ASSIGN_OR_RETURN(StridedView made, view(types, given[0].shape));
    ValueType result;
    result.dtype = given[0].dtype;
    result.shape = std::move(made.dims);
    return result;
  };
  function.compute = [view](std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
    return ComputeView(view, arguments, rows, type, out);
  };
  return function;
}

}  // namespace feedmill
