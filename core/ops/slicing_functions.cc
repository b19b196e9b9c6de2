#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/ops/elementwise.h"
#include "core/ops/function_families.h"
#include "core/ops/loops.h"
#include "core/ops/promotion.h"
#include "core/ops/row_items.h"
#include "core/ops/strided_view.h"

namespace feedmill {
namespace {

constexpr int64_t kIntegerMax = std::numeric_limits<int64_t>::max();

size_t SizeOf(int64_t count) { return static_cast<size_t>(count); }

// Returns the axis that the last argument names, or the first axis if there are
// fewer than `count` arguments.
absl::StatusOr<size_t> AxisAt(std::string_view function, size_t count,
                              std::span<const ValueType* const> types) {
  if (types.size() < count) return 0;
  return ConstantAxis(function, *types[count - 1], types[0]->shape.size());
}

// Sets the dims of a result row: `dims` with `dim` at `axis`. `scratch` is
// memory.
void EndRow(std::span<const int64_t> dims, size_t axis, int64_t dim,
            bool ragged, bool first, Shape& scratch, OutputColumn& out) {
  if (!ragged && !first) return;
  scratch.assign(dims.begin(), dims.end());
  scratch[axis] = dim;
  if (ragged) {
    EndRaggedRow(scratch, out);
  } else {
    out.shape = scratch;
  }
}

// ---- getitem

absl::StatusOr<ValueType> InferGetItem(const std::vector<ValueType>& given) {
  if (given.size() != 3) {
    FM_RETURN_IF_ERROR(ExpectArguments("getitem", given.size(), 2));
  }
  const ValueType& from = given[0];
  if (from.shape.empty()) {
    return InvalidArgument(
        "a scalar {} cannot be indexed{}", DTypeName(from.dtype),
        from.dtype == DType::kBytes ? "; s[i:j] is a part of a text" : "");
  }
  if (!IsInteger(given[1].dtype) || !given[1].shape.empty()) {
    return InvalidArgument(
        "an index is one integer, not {}{}; gather(a, indices) takes many",
        DTypeName(given[1].dtype), ShapeToString(given[1].shape));
  }
  FM_ASSIGN_OR_RETURN(const size_t axis, AxisAt("an index", 3, TypesOf(given)));
  const int64_t dim = from.shape[axis];
  const auto* index = given[1].literal
                          ? std::get_if<int64_t>(&given[1].literal->value)
                          : nullptr;
  if (dim != kUnknownDim && index != nullptr &&
      (*index >= dim || *index < -dim)) {
    return InvalidArgument("index {} is out of range for shape {}", *index,
                           ShapeToString(from.shape));
  }
  ValueType result;
  result.dtype = from.dtype;
  result.shape = from.shape;
  result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return result;
}

absl::Status ComputeGetItem(std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  FM_ASSIGN_OR_RETURN(const size_t axis,
                      AxisAt("an index", 3, TypesOf(arguments)));
  const std::vector<int64_t> indexes = IntegersOf(arguments[1], rows);
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  Shape dims;
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const auto from_dims = from.RowDims(from_row);
    const AxisSplit split = SplitAtAxis(from_dims, axis);
    int64_t index = indexes[RowOf(arguments[1], row)];
    if (index >= split.dim || index < -split.dim) {
      out.failed_row = row;
      return DataLoss("index {} is out of range for shape {}", index,
                      ShapeToString({from_dims.begin(), from_dims.end()}));
    }
    index += index < 0 ? split.dim : 0;
    int64_t begin = from.RowStart(from_row) + index * split.inner;
    for (int64_t block = 0; block < split.outer; ++block) {
      AppendItems(from, begin, split.inner, out);
      begin += split.dim * split.inner;
    }
    if (!ragged && row > 0) continue;
    dims.assign(from_dims.begin(), from_dims.end());
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    if (ragged) {
      EndRaggedRow(dims, out);
    } else {
      out.shape = dims;
    }
  }
  return absl::OkStatus();
}

// ---- getslice

// The items of a slice: begin, begin + step, …
struct Range {
  int64_t begin = 0;
  int64_t count = 0;
};

// Python's slice.indices.
Range RangeOf(int64_t start, int64_t stop, int64_t step, int64_t dim) {
  const int64_t low = step < 0 ? -1 : 0;
  const int64_t high = step < 0 ? dim - 1 : dim;
  start = std::clamp(start < 0 ? start + dim : start, low, high);
  stop = std::clamp(stop < 0 ? stop + dim : stop, low, high);
  const int64_t between = step < 0 ? start - stop : stop - start;
  if (between <= 0) return {};
  const int64_t stride = step < 0 ? -step : step;
  return {start, (between - 1) / stride + 1};
}

absl::StatusOr<int64_t> StepOf(const ValueType& type) {
  FM_ASSIGN_OR_RETURN(const int64_t step,
                      ConstantInteger("the step of a slice", type));
  if (step == 0) return InvalidArgument("the step of a slice is 0");
  return std::max(step, -kIntegerMax);
}

std::optional<int64_t> LiteralBound(const ValueType& type) {
  const auto* bound =
      type.literal ? std::get_if<int64_t>(&type.literal->value) : nullptr;
  return bound == nullptr ? std::nullopt : std::optional(*bound);
}

absl::StatusOr<ValueType> InferGetSlice(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("getslice", given.size(), 5));
  const ValueType& from = given[0];
  const bool text = from.dtype == DType::kBytes && from.shape.empty();
  if (from.shape.empty() && !text) {
    return InvalidArgument("a scalar {} cannot be sliced",
                           DTypeName(from.dtype));
  }
  FM_RETURN_IF_ERROR(CheckIsInteger("the start of a slice", given[1]));
  FM_RETURN_IF_ERROR(CheckIsInteger("the stop of a slice", given[2]));
  FM_ASSIGN_OR_RETURN(const int64_t step, StepOf(given[3]));
  ValueType result;
  result.dtype = from.dtype;
  result.shape = from.shape;
  if (text) {
    FM_ASSIGN_OR_RETURN(const int64_t axis,
                        ConstantInteger("a slice: the axis", given[4]));
    if (axis == 0 || axis == -1) return result;
    return InvalidArgument("a text has one axis to slice, not axis {}", axis);
  }
  FM_ASSIGN_OR_RETURN(const size_t axis, AxisAt("a slice", 5, TypesOf(given)));
  int64_t& dim = result.shape[axis];
  const std::optional<int64_t> start = LiteralBound(given[1]);
  const std::optional<int64_t> stop = LiteralBound(given[2]);
  if (dim == kUnknownDim) return result;
  dim = start && stop ? RangeOf(*start, *stop, step, dim).count : kUnknownDim;
  return result;
}

// Appends the items of a slice of one row of an array.
void AppendSlice(const Column& from, int64_t start, const AxisSplit& split,
                 const Range& range, int64_t step, OutputColumn& out) {
  if (range.count == 0) return;
  const bool adjacent = step == 1;
  const int64_t runs = adjacent ? 1 : range.count;
  const int64_t run = split.inner * (adjacent ? range.count : 1);
  const int64_t block = split.dim * split.inner;
  int64_t begin = start + range.begin * split.inner;
  if (from.dtype == DType::kBytes) {
    for (int64_t k = 0; k < split.outer; ++k, begin += block) {
      for (int64_t r = 0; r < runs; ++r) {
        AppendItems(from, begin + r * step * split.inner, run, out);
      }
    }
    return;
  }
  const auto size = static_cast<int64_t>(ItemSize(from.dtype));
  const int64_t stride = runs > 1 ? step * split.inner * size : 0;
  const std::byte* items = from.values.data();
  std::byte* to = out.values.Extend(SizeOf(split.outer * runs * run * size));
  for (int64_t k = 0; k < split.outer; ++k, begin += block) {
    CopyRunsOf(SizeOf(run * size), items + begin * size, stride, runs, to);
    to += runs * run * size;
  }
}

void AppendTextSlice(std::string_view text, int64_t start, int64_t stop,
                     int64_t step, OutputColumn& out) {
  const Range range =
      RangeOf(start, stop, step, static_cast<int64_t>(text.size()));
  if (range.count > 0) {
    CopyRunsOf(step == 1 ? SizeOf(range.count) : 1,
               reinterpret_cast<const std::byte*>(text.data()) + range.begin,
               step, step == 1 ? 1 : range.count,
               out.values.Extend(SizeOf(range.count)));
  }
  out.offsets.Push(static_cast<int64_t>(out.values.size()));
}

absl::Status ComputeGetSlice(std::span<const Argument> arguments, size_t rows,
                             const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const std::vector<int64_t> starts = IntegersOf(arguments[1], rows);
  const std::vector<int64_t> stops = IntegersOf(arguments[2], rows);
  FM_ASSIGN_OR_RETURN(const int64_t step, StepOf(*arguments[3].type));
  const bool varies =
      from.ragged() || !arguments[1].constant || !arguments[2].constant;
  const bool ragged = varies && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  const bool text = type.shape.empty();
  size_t axis = 0;
  if (!text) {
    FM_ASSIGN_OR_RETURN(axis, AxisAt("a slice", 5, TypesOf(arguments)));
  }
  Shape scratch;
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const int64_t start = starts[RowOf(arguments[1], row)];
    const int64_t stop = stops[RowOf(arguments[2], row)];
    if (text) {
      AppendTextSlice(from.BytesAt(from.RowStart(from_row)), start, stop, step,
                      out);
      continue;
    }
    const auto dims = from.RowDims(from_row);
    const AxisSplit split = SplitAtAxis(dims, axis);
    const Range range = RangeOf(start, stop, step, split.dim);
    AppendSlice(from, from.RowStart(from_row), split, range, step, out);
    EndRow(dims, axis, range.count, ragged, row == 0, scratch, out);
  }
  return absl::OkStatus();
}

// ---- pad_to

absl::StatusOr<ValueType> InferPadTo(const std::vector<ValueType>& given) {
  if (given.size() != 4) {
    FM_RETURN_IF_ERROR(ExpectArguments("pad_to", given.size(), 3));
  }
  const ValueType& from = given[0];
  if (from.shape.empty()) {
    return InvalidArgument("pad_to: a scalar {} has no items to pad",
                           DTypeName(from.dtype));
  }
  FM_RETURN_IF_ERROR(CheckIsInteger("pad_to: the length", given[1]));
  const ValueType& value = given[2];
  if (!value.shape.empty()) {
    return InvalidArgument("pad_to: the value is an array {}{}, not a scalar",
                           DTypeName(value.dtype), ShapeToString(value.shape));
  }
  const ValueType* both[] = {&from, &value};
  DType common = from.dtype;
  if (from.dtype != DType::kBytes || value.dtype != DType::kBytes) {
    FM_ASSIGN_OR_RETURN(common, CommonDType("pad_to", both));
    FM_RETURN_IF_ERROR(CheckLiterals("pad_to", both, common));
  }
  if (common != from.dtype) {
    return InvalidArgument(
        "pad_to: the value is {} and does not fit items of {}; write cast(…)",
        DTypeName(value.dtype), DTypeName(from.dtype));
  }
  FM_ASSIGN_OR_RETURN(const size_t axis, AxisAt("pad_to", 4, TypesOf(given)));
  ValueType result;
  result.dtype = from.dtype;
  result.shape = from.shape;
  const std::optional<int64_t> length = LiteralBound(given[1]);
  int64_t& dim = result.shape[axis];
  if (length && *length < 0) {
    return InvalidArgument("pad_to: the length {} is negative", *length);
  }
  if (length && dim > *length) {
    return InvalidArgument(
        "pad_to: {} items of shape {} are more than {}; a slice x[:{}] cuts "
        "them",
        dim, ShapeToString(from.shape), *length, *length);
  }
  dim = length.value_or(kUnknownDim);
  return result;
}

// Appends `count` copies of a scalar.
void AppendCopies(const Argument& value, size_t row, int64_t count,
                  OutputColumn& out) {
  if (out.dtype == DType::kBytes) {
    const std::string_view text =
        value.column->BytesAt(value.column->RowStart(RowOf(value, row)));
    for (int64_t k = 0; k < count; ++k) {
      out.values.Append(text.data(), text.size());
      out.offsets.Push(static_cast<int64_t>(out.values.size()));
    }
    return;
  }
  VisitNumeric(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    T item{};
    ConvertItems(value.column->dtype,
                 value.column->values.data() +
                     RowOf(value, row) * ItemSize(value.column->dtype),
                 out.dtype, &item, 1);
    std::fill_n(
        reinterpret_cast<T*>(out.values.Extend(SizeOf(count) * sizeof(T))),
        count, item);
  });
}

absl::Status ComputePadTo(std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const std::vector<int64_t> lengths = IntegersOf(arguments[1], rows);
  FM_ASSIGN_OR_RETURN(const size_t axis,
                      AxisAt("pad_to", 4, TypesOf(arguments)));
  const bool ragged =
      (from.ragged() || !arguments[1].constant) && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  Shape scratch;
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const auto dims = from.RowDims(from_row);
    const AxisSplit split = SplitAtAxis(dims, axis);
    const int64_t length = lengths[RowOf(arguments[1], row)];
    if (split.dim > length) {
      out.failed_row = row;
      return DataLoss("pad_to: {} items are more than {}", split.dim, length);
    }
    int64_t padding = 0;
    if (__builtin_mul_overflow(length - split.dim, split.inner, &padding) ||
        padding > (int64_t{1} << 40)) {
      out.failed_row = row;
      return DataLoss("pad_to: the length {} is too large", length);
    }
    const int64_t block = split.dim * split.inner;
    int64_t begin = from.RowStart(from_row);
    for (int64_t k = 0; k < split.outer; ++k, begin += block) {
      AppendItems(from, begin, block, out);
      AppendCopies(arguments[2], row, padding, out);
    }
    EndRow(dims, axis, length, ragged, row == 0, scratch, out);
  }
  return absl::OkStatus();
}

// ---- len, length, shape

absl::StatusOr<ValueType> InferLen(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("len", given.size(), 1));
  if (given[0].shape.empty() && given[0].dtype != DType::kBytes) {
    return InvalidArgument("a scalar {} has no length",
                           DTypeName(given[0].dtype));
  }
  return ValueType{};
}

absl::Status ComputeLen(std::span<const Argument> arguments, size_t rows,
                        const ValueType& type, OutputColumn& out) {
  StartRows(type, /*ragged=*/false, out);
  const Column& from = *arguments[0].column;
  auto* to =
      reinterpret_cast<int64_t*>(out.values.Extend(rows * sizeof(int64_t)));
  const size_t rank = from.shape.size();
  if (rank == 0) {
    for (size_t row = 0; row < rows; ++row) {
      const int64_t item = from.RowStart(RowOf(arguments[0], row));
      to[row] = static_cast<int64_t>(from.BytesAt(item).size());
    }
  } else if (!from.ragged() || arguments[0].constant) {
    std::fill_n(to, rows, rows > 0 ? from.RowDims(0)[0] : 0);
  } else {
    const int64_t* dims = from.row_shapes.As<int64_t>().data();
    for (size_t row = 0; row < rows; ++row) to[row] = dims[row * rank];
  }
  return absl::OkStatus();
}

// length(x) of texts is the bytes of each; otherwise it is len(x).
absl::StatusOr<ValueType> InferLength(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("length", given.size(), 1));
  ValueType result;
  if (given[0].dtype != DType::kBytes) return InferLen(given);
  result.shape = given[0].shape;
  return result;
}

absl::Status ComputeLength(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  if (arguments[0].type->dtype != DType::kBytes) {
    return ComputeLen(arguments, rows, type, out);
  }
  static const ElementwiseCall kCall = {
      {DType::kBytes}, DType::kInt64, LengthLoop(DType::kBytes), ""};
  return RunElementwise(kCall, arguments, rows, type, out);
}

absl::StatusOr<ValueType> InferShape(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("shape", given.size(), 1));
  ValueType result;
  result.shape = {static_cast<int64_t>(given[0].shape.size())};
  return result;
}

absl::Status ComputeShape(std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  StartRows(type, /*ragged=*/false, out);
  for (size_t row = 0; row < rows; ++row) {
    const auto dims = arguments[0].column->RowDims(RowOf(arguments[0], row));
    out.values.Append(dims.data(), dims.size_bytes());
  }
  return absl::OkStatus();
}

}  // namespace

void AddSlicingFunctions(FunctionRegistry& registry) {
  registry.Add("getitem", {InferGetItem, ComputeGetItem});
  FunctionRegistry::Function getslice{InferGetSlice, ComputeGetSlice};
  getslice.texts = FunctionRegistry::Texts::kOneIsBroken;
  registry.Add("getslice", std::move(getslice));
  registry.Add("pad_to", {InferPadTo, ComputePadTo});
  registry.Add("len", {InferLen, ComputeLen});
  registry.Add("length", {InferLength, ComputeLength});
  registry.Add("shape", {InferShape, ComputeShape});
  registry.Describe({{"len"},
                     "`len(a)`",
                     "int64: the items along the first axis; of one text its "
                     "bytes, as Python's"});
  registry.Describe({{"shape"}, "`shape(a)`", "int64[rank]: the dimensions"});
  registry.Describe(
      {{"pad_to"},
       "`pad_to(a, n, v)`, `(a, n, v, axis)`",
       "appends v until there are n items along the first axis, or along a "
       "constant one; n and v may be computed. A longer row is a data error; "
       "`pad_to(a[:n], n, v)` cuts it"});
  registry.Describe({{"length"},
                     "`length(s)`",
                     "of bytes: length in bytes (int64). `length` of an array "
                     "of numbers is `len`"});
  registry.Describe(
      {{"getitem"},
       "`a[i]` `a[i, j]` `a[..., i]`",
       "one integer for an axis, constant or computed; negative ones count "
       "from the end; out of range is an error at building time where the dim "
       "is known, else a data error"});
  registry.Describe(
      {{"getslice"},
       "`a[i:j]` `a[i:j:k]` `a[:, i:j]`",
       "NumPy's slices: bounds may be computed or left out, and shorter rows "
       "give what they have; the step is a constant. Of one text: its bytes"});
}

}  // namespace feedmill
