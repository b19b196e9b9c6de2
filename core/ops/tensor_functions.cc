#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/row_items.h"
#include "core/ops/strided_view.h"

namespace feedmill {
namespace {

using Types = std::span<const ValueType* const>;

// ---- slice, transpose

absl::StatusOr<StridedView> Slice(Types types, std::span<const int64_t> dims) {
  FM_RETURN_IF_ERROR(ExpectArguments("slice", types.size(), 3));
  FM_ASSIGN_OR_RETURN(const Shape starts,
                      ConstantIntegers("slice: the starts", *types[1]));
  FM_ASSIGN_OR_RETURN(const Shape sizes,
                      ConstantIntegers("slice: the sizes", *types[2]));
  if (starts.size() != sizes.size() || starts.size() > dims.size()) {
    return InvalidArgument(
        "slice: {} starts and {} sizes for {} dimensions; give as many of "
        "either, at most one a dimension",
        starts.size(), sizes.size(), dims.size());
  }
  StridedView view = StridedView::Whole(dims);
  for (size_t axis = 0; axis < starts.size(); ++axis) {
    const int64_t dim = dims[axis];
    int64_t start = starts[axis];
    int64_t size = sizes[axis];
    if (size < -1) return InvalidArgument("slice: the size {}", size);
    if (dim == kUnknownDim) {
      view.Narrow(axis, 0, size == -1 ? kUnknownDim : size);
      continue;
    }
    if (start < 0 && start >= -dim) start += dim;
    if (size == -1) size = dim - start;
    if (start < 0 || start > dim || size > dim - start) {
      return InvalidArgument(
          "slice: {} items from {} on are not within dimension {}, which is "
          "{}",
          sizes[axis], starts[axis], axis, dim);
    }
    view.Narrow(axis, start, size);
  }
  return view;
}

absl::StatusOr<StridedView> Transpose(Types types,
                                      std::span<const int64_t> dims) {
  std::vector<size_t> order;
  if (types.size() == 1) {
    for (size_t axis = dims.size(); axis-- > 0;) order.push_back(axis);
  } else {
    FM_RETURN_IF_ERROR(ExpectArguments("transpose", types.size(), 2));
    FM_ASSIGN_OR_RETURN(const Shape axes,
                        ConstantIntegers("transpose: the axes", *types[1]));
    const auto rank = static_cast<int64_t>(dims.size());
    std::vector<bool> seen(dims.size(), false);
    for (const int64_t given : axes) {
      const int64_t axis = given < 0 ? given + rank : given;
      if (axis < 0 || axis >= rank || seen[static_cast<size_t>(axis)]) break;
      seen[static_cast<size_t>(axis)] = true;
      order.push_back(static_cast<size_t>(axis));
    }
    if (order.size() != dims.size() || axes.size() != dims.size()) {
      return InvalidArgument(
          "transpose: the axes {} do not name each of {} dimensions once",
          ShapeToString(axes), dims.size());
    }
  }
  StridedView view = StridedView::Whole(dims);
  view.Permute(order);
  return view;
}

// ---- reshape

// Returns the dims of a row after reshaping to `wanted`.
absl::StatusOr<Shape> ReshapedDims(const Shape& wanted,
                                   std::span<const int64_t> dims) {
  int64_t known = 1;
  size_t open = wanted.size();
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    if (wanted[axis] == -1 && open == wanted.size()) {
      open = axis;
      continue;
    }
    if (wanted[axis] < 0) {
      return InvalidArgument(
          "reshape: the shape {} has the dimension {}; one may be -1",
          ShapeToString(wanted), wanted[axis]);
    }
    if (__builtin_mul_overflow(known, wanted[axis], &known)) {
      return InvalidArgument("reshape: the shape {} is too large",
                             ShapeToString(wanted));
    }
  }
  Shape result = wanted;
  if (std::find(dims.begin(), dims.end(), kUnknownDim) != dims.end()) {
    return result;
  }
  const int64_t items = Product(dims);
  if (open < wanted.size() && known > 0) result[open] = items / known;
  if (open < wanted.size() ? known == 0 || items % known != 0
                           : items != known) {
    return InvalidArgument("reshape: {} items do not fill the shape {}", items,
                           ShapeToString(wanted));
  }
  return result;
}

absl::StatusOr<ValueType> InferReshape(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("reshape", given.size(), 2));
  FM_ASSIGN_OR_RETURN(const Shape wanted,
                      ConstantIntegers("reshape: the shape", given[1]));
  ValueType result;
  result.dtype = given[0].dtype;
  FM_ASSIGN_OR_RETURN(result.shape, ReshapedDims(wanted, given[0].shape));
  return result;
}

absl::Status ComputeReshape(std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  FM_ASSIGN_OR_RETURN(const Shape wanted, ConstantIntegers("reshape: the shape",
                                                           *arguments[1].type));
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    if (row == 0 || from.ragged()) {
      auto dims = ReshapedDims(wanted, from.RowDims(from_row));
      if (!dims.ok()) {
        out.failed_row = row;
        return AsDataLoss(dims.status());
      }
      if (ragged) {
        EndRaggedRow(*dims, out);
      } else if (row == 0) {
        out.shape = *std::move(dims);
      }
    }
    AppendItems(from, from.RowStart(from_row), from.RowItems(from_row), out);
  }
  return absl::OkStatus();
}

// ---- compress

absl::StatusOr<ValueType> InferCompress(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("compress", given.size(), 2));
  if (given[0].dtype != DType::kBool || given[0].shape.size() != 1) {
    return InvalidArgument("compress: the mask is {}{}, not bool[?]",
                           DTypeName(given[0].dtype),
                           ShapeToString(given[0].shape));
  }
  if (given[1].shape.empty()) {
    return InvalidArgument("compress: a scalar {} has no items to keep",
                           DTypeName(given[1].dtype));
  }
  ValueType result;
  result.dtype = given[1].dtype;
  result.shape = given[1].shape;
  result.shape[0] = kUnknownDim;
  return result;
}

// Keeps the items along the first axis where the mask is true.
absl::Status ComputeCompress(std::span<const Argument> arguments, size_t rows,
                             const ValueType& type, OutputColumn& out) {
  const Column& masks = *arguments[0].column;
  const Column& from = *arguments[1].column;
  StartRows(type, /*ragged=*/true, out);
  Shape dims;
  for (size_t row = 0; row < rows; ++row) {
    const auto mask = masks.Items<uint8_t>(RowOf(arguments[0], row));
    const size_t from_row = RowOf(arguments[1], row);
    const auto given = from.RowDims(from_row);
    if (given[0] != static_cast<int64_t>(mask.size())) {
      out.failed_row = row;
      return DataLoss("compress: the mask has {} items, and the array {}",
                      mask.size(), given[0]);
    }
    dims.assign(given.begin(), given.end());
    dims[0] = 0;
    const int64_t each = Product(given.subspan(1));
    int64_t at = from.RowStart(from_row);
    for (const uint8_t kept : mask) {
      if (kept != 0) AppendItems(from, at, each, out);
      dims[0] += kept != 0;
      at += each;
    }
    EndRaggedRow(dims, out);
  }
  return absl::OkStatus();
}

// ---- gather

absl::StatusOr<ValueType> InferGather(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("gather", given.size(), 2));
  if (given[0].shape.empty()) {
    return InvalidArgument("gather: a scalar {} has no items to take",
                           DTypeName(given[0].dtype));
  }
  if (!IsInteger(given[1].dtype)) {
    return InvalidArgument("gather: the indices are {}, not integers",
                           DTypeName(given[1].dtype));
  }
  ValueType result;
  result.dtype = given[0].dtype;
  result.shape = given[1].shape;
  result.shape.insert(result.shape.end(), given[0].shape.begin() + 1,
                      given[0].shape.end());
  return result;
}

// Appends the items at `indices`. If an index is out of range, returns false
// and sets `bad`.
template <class T>
bool TakeItems(const Column& from, size_t from_row, std::span<const T> indices,
               OutputColumn& out, T& bad) {
  const auto dims = from.RowDims(from_row);
  const int64_t start = from.RowStart(from_row);
  const int64_t each = Product(dims.subspan(1));
  for (const T index : indices) {
    auto place = static_cast<int64_t>(index);
    if constexpr (std::is_signed_v<T>) place += place < 0 ? dims[0] : 0;
    if (place < 0 || place >= dims[0]) {
      bad = index;
      return false;
    }
    AppendItems(from, start + place * each, each, out);
  }
  return true;
}

absl::Status ComputeGather(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const Column& indices = *arguments[1].column;
  const bool ragged =
      (from.ragged() || indices.ragged()) && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  return VisitNumeric(indices.dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    Shape dims;
    for (size_t row = 0; row < rows; ++row) {
      const size_t from_row = RowOf(arguments[0], row);
      const size_t index_row = RowOf(arguments[1], row);
      T bad{};
      if (!TakeItems<T>(from, from_row, indices.Items<T>(index_row), out,
                        bad)) {
        out.failed_row = row;
        return DataLoss("gather: index {} is out of range for {} items", +bad,
                        from.RowDims(from_row)[0]);
      }
      if (!ragged && row > 0) continue;
      const auto outer = indices.RowDims(index_row);
      const auto inner = from.RowDims(from_row).subspan(1);
      dims.assign(outer.begin(), outer.end());
      dims.insert(dims.end(), inner.begin(), inner.end());
      if (ragged) {
        EndRaggedRow(dims, out);
      } else {
        out.shape = dims;
      }
    }
    return absl::OkStatus();
  });
}

// ---- one_hot

constexpr int64_t kDepthMax = int64_t{1} << 24;

absl::StatusOr<ValueType> InferOneHot(const std::vector<ValueType>& given) {
  if (given.size() != 3) {
    FM_RETURN_IF_ERROR(ExpectArguments("one_hot", given.size(), 2));
  }
  if (!IsInteger(given[0].dtype)) {
    return InvalidArgument("one_hot: the places are {}, not integers",
                           DTypeName(given[0].dtype));
  }
  FM_ASSIGN_OR_RETURN(const int64_t depth,
                      ConstantInteger("one_hot: the depth", given[1]));
  if (depth < 1 || depth > kDepthMax) {
    return InvalidArgument("one_hot: the depth {} is not in 1 to {}", depth,
                           kDepthMax);
  }
  ValueType result;
  result.dtype = DType::kFloat32;
  if (given.size() == 3) {
    FM_ASSIGN_OR_RETURN(result.dtype,
                        ConstantDType("one_hot: the dtype", given[2]));
    if (result.dtype == DType::kBytes) {
      return InvalidArgument("one_hot: the dtype is bytes, not numeric");
    }
  }
  result.shape = given[0].shape;
  result.shape.push_back(depth);
  return result;
}

absl::Status ComputeOneHot(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  const Column& places = *arguments[0].column;
  const bool ragged = places.ragged() && HasUnknownDim(type.shape);
  const auto depth = static_cast<uint64_t>(type.shape.back());
  StartRows(type, ragged, out);
  return VisitNumeric(places.dtype, [&](auto place_zero) -> absl::Status {
    using P = decltype(place_zero);
    return VisitNumeric(type.dtype, [&](auto zero) -> absl::Status {
      using T = decltype(zero);
      Shape dims;
      for (size_t row = 0; row < rows; ++row) {
        const size_t from_row = RowOf(arguments[0], row);
        const std::span<const P> given = places.Items<P>(from_row);
        const size_t size = given.size() * depth * sizeof(T);
        T* to = reinterpret_cast<T*>(out.values.Extend(size));
        std::fill_n(to, given.size() * depth, T{0});
        for (size_t k = 0; k < given.size(); ++k) {
          // A negative index, cast to unsigned, is larger than any depth.
          const auto place = static_cast<uint64_t>(given[k]);
          if (place < depth) to[k * depth + place] = T{1};
        }
        if (!ragged && row > 0) continue;
        const auto outer = places.RowDims(from_row);
        dims.assign(outer.begin(), outer.end());
        dims.push_back(type.shape.back());
        if (ragged) {
          EndRaggedRow(dims, out);
        } else {
          out.shape = dims;
        }
      }
      return absl::OkStatus();
    });
  });
}

}  // namespace

void AddTensorFunctions(FunctionRegistry& registry) {
  registry.Add("slice", MakeViewFunction(Slice));
  registry.Add("transpose", MakeViewFunction(Transpose));
  registry.Add("reshape", {InferReshape, ComputeReshape});
  registry.Add("compress", {InferCompress, ComputeCompress});
  registry.Add("gather", {InferGather, ComputeGather});
  registry.Add("one_hot", {InferOneHot, ComputeOneHot});
  registry.Describe({{"reshape"},
                     "`reshape(a, [n, -1])`",
                     "C order; one dimension may be −1"});
  registry.Describe({{"transpose"},
                     "`transpose(a)`, `(a, [axes])`",
                     "reverses the axes, or puts them in that order"});
  registry.Describe(
      {{"slice"},
       "`slice(a, [starts], [sizes])`",
       "of the first axes; a negative start counts from the end, the size −1 "
       "is the rest; beyond the end is an error at building time where the dim "
       "is known, else a data error"});
  registry.Describe({{"compress"},
                     "`compress(mask, a)`",
                     "NumPy's: the items along the first axis where the mask, "
                     "bool[?] of the same length, is true"});
  registry.Describe({{"gather"},
                     "`gather(a, indices)`",
                     "NumPy's take along the first axis; a negative index "
                     "counts from the end; out of range is a data error"});
  registry.Describe({{"one_hot"},
                     "`one_hot(i, depth)`, `(i, depth, dtype)`",
                     "a new last axis, float32 by default; zeros for an "
                     "integer out of range"});
}

}  // namespace feedmill
