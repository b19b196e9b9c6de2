#include <algorithm>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "core/ops/convert_items.h"
#include "core/ops/function_families.h"
#include "core/ops/promotion.h"
#include "core/ops/row_items.h"
#include "core/ops/strided_view.h"

namespace feedmill {
namespace {

// concat joins along an existing axis of the parts, stack along a new one.
enum class Join { kConcat, kStack };

constexpr std::string_view kList = "a list";

absl::StatusOr<DType> JoinedDType(std::string_view function,
                                  std::span<const ValueType* const> parts) {
  const auto is_bytes = [](const ValueType* part) {
    return part->dtype == DType::kBytes;
  };
  if (std::all_of(parts.begin(), parts.end(), is_bytes)) return DType::kBytes;
  FM_ASSIGN_OR_RETURN(const DType dtype, CommonDType(function, parts));
  FM_RETURN_IF_ERROR(CheckLiterals(function, parts, dtype));
  return dtype;
}

// Returns the dims of joined parts. Dims are unknown only when the expression
// is compiled.
absl::StatusOr<Shape> JoinedDims(
    Join join, std::string_view function, size_t axis,
    std::span<const std::span<const int64_t>> parts) {
  Shape dims(parts[0].begin(), parts[0].end());
  for (const auto part : parts.subspan(1)) {
    bool fits = part.size() == dims.size();
    for (size_t d = 0; fits && d < dims.size(); ++d) {
      if (join == Join::kConcat && d == axis) {
        const bool unknown = dims[d] == kUnknownDim || part[d] == kUnknownDim;
        dims[d] = unknown ? kUnknownDim : dims[d] + part[d];
      } else if (dims[d] == kUnknownDim) {
        dims[d] = part[d];
      } else {
        fits = part[d] == kUnknownDim || part[d] == dims[d];
      }
    }
    if (!fits) {
      return InvalidArgument(
          "{}: the shapes {} and {} do not fit together{}", function,
          ShapeToString(Shape(parts[0].begin(), parts[0].end())),
          ShapeToString(Shape(part.begin(), part.end())),
          function == kList ? "; concat(a, b, axis) joins other lengths" : "");
    }
  }
  if (join == Join::kStack) {
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis),
                static_cast<int64_t>(parts.size()));
  }
  return dims;
}

absl::StatusOr<ValueType> InferJoin(Join join, std::string_view function,
                                    size_t axis,
                                    std::span<const ValueType> parts) {
  std::vector<const ValueType*> types;
  std::vector<std::span<const int64_t>> dims;
  for (const ValueType& part : parts) {
    types.push_back(&part);
    dims.emplace_back(part.shape);
  }
  ValueType result;
  FM_ASSIGN_OR_RETURN(result.dtype, JoinedDType(function, types));
  FM_ASSIGN_OR_RETURN(result.shape, JoinedDims(join, function, axis, dims));
  return result;
}

void AppendAs(DType dtype, const Column& from, int64_t begin, int64_t count,
              OutputColumn& out) {
  if (from.dtype == dtype) return AppendItems(from, begin, count, out);
  const auto items = static_cast<size_t>(count);
  ConvertItems(
      from.dtype,
      from.values.data() + static_cast<size_t>(begin) * ItemSize(from.dtype),
      dtype, out.values.Extend(items * ItemSize(dtype)), items);
}

absl::Status ComputeJoin(Join join, std::string_view function, size_t axis,
                         std::span<const Argument> parts, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  bool varies = false;
  for (const Argument& part : parts) varies = varies || part.column->ragged();
  const bool ragged = varies && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  std::vector<std::span<const int64_t>> dims(parts.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t k = 0; k < parts.size(); ++k) {
      dims[k] = parts[k].column->RowDims(RowOf(parts[k], row));
    }
    if (row == 0 || varies) {
      auto joined = JoinedDims(join, function, axis, dims);
      if (!joined.ok()) {
        out.failed_row = row;
        return AsDataLoss(joined.status());
      }
      if (ragged) {
        EndRaggedRow(*joined, out);
      } else if (row == 0) {
        out.shape = *std::move(joined);
      }
    }
    const int64_t blocks = Product(dims[0].first(axis));
    for (int64_t block = 0; block < blocks; ++block) {
      for (size_t k = 0; k < parts.size(); ++k) {
        const int64_t count = Product(dims[k].subspan(axis));
        const Column& from = *parts[k].column;
        const int64_t start = from.RowStart(RowOf(parts[k], row));
        AppendAs(type.dtype, from, start + block * count, count, out);
      }
    }
  }
  return absl::OkStatus();
}

// ---- concat and stack of one value along its first axis, as in concat([a, b],
// 0)

// Moves the first axis to `axis`.
absl::StatusOr<StridedView> MoveFirstAxis(std::span<const int64_t> dims,
                                          size_t axis) {
  std::vector<size_t> order;
  for (size_t k = 1; k < dims.size(); ++k) order.push_back(k);
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  StridedView view = StridedView::Whole(dims);
  view.Permute(order);
  return view;
}

// Returns the dims of the view above after merging the moved axis with the
// next.
Shape MergeAxis(Shape dims, size_t axis) {
  const bool unknown =
      dims[axis] == kUnknownDim || dims[axis + 1] == kUnknownDim;
  dims[axis + 1] = unknown ? kUnknownDim : dims[axis] * dims[axis + 1];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return dims;
}

absl::StatusOr<ValueType> InferJoinOfOne(Join join, size_t axis,
                                         const ValueType& given) {
  FM_ASSIGN_OR_RETURN(StridedView view, MoveFirstAxis(given.shape, axis));
  ValueType result;
  result.dtype = given.dtype;
  result.shape = join == Join::kStack ? std::move(view.dims)
                                      : MergeAxis(std::move(view.dims), axis);
  return result;
}

// ---- the functions

// Returns the axis along which to join: the last of `given`.
absl::StatusOr<size_t> JoinAxis(Join join, std::string_view function,
                                const ValueType* const* given, size_t count) {
  if (count < 2) {
    return InvalidArgument("{} takes values and an axis, as in {}(a, b, 0)",
                           function, function);
  }
  const bool one = count == 2;
  size_t rank = given[0]->shape.size();
  if (one && rank < (join == Join::kConcat ? 2 : 1)) {
    return InvalidArgument("{}: {}{} has no items to join", function,
                           DTypeName(given[0]->dtype),
                           ShapeToString(given[0]->shape));
  }
  if (join == Join::kStack && !one) ++rank;
  if (join == Join::kConcat && one) --rank;
  if (rank == 0) {
    return InvalidArgument("{}: scalars have no axis; write stack or [a, b]",
                           function);
  }
  return ConstantAxis(function, *given[count - 1], rank);
}

FunctionRegistry::Function MakeJoin(Join join, std::string name) {
  FunctionRegistry::Function function;
  function.infer =
      [join,
       name](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    std::vector<const ValueType*> types;
    for (const ValueType& type : given) types.push_back(&type);
    FM_ASSIGN_OR_RETURN(const size_t axis,
                        JoinAxis(join, name, types.data(), types.size()));
    if (given.size() == 2) return InferJoinOfOne(join, axis, given[0]);
    return InferJoin(join, name, axis,
                     std::span(given).first(given.size() - 1));
  };
  function.compute = [join, name](std::span<const Argument> arguments,
                                  size_t rows, const ValueType& type,
                                  OutputColumn& out) -> absl::Status {
    std::vector<const ValueType*> types;
    for (const Argument& argument : arguments) types.push_back(argument.type);
    FM_ASSIGN_OR_RETURN(const size_t axis,
                        JoinAxis(join, name, types.data(), types.size()));
    if (arguments.size() > 2) {
      return ComputeJoin(join, name, axis,
                         arguments.first(arguments.size() - 1), rows, type,
                         out);
    }
    const ViewFunction view = [axis](auto, std::span<const int64_t> dims) {
      return MoveFirstAxis(dims, axis);
    };
    const MergeDims merge = [join, axis](Shape dims) {
      return join == Join::kStack ? dims : MergeAxis(std::move(dims), axis);
    };
    return ComputeView(view, merge, arguments, rows, type, out);
  };
  return function;
}

// ---- list

// Returns the values of number literals; none if there is another value.
std::vector<double> ConstantsOf(const std::vector<ValueType>& given) {
  std::vector<double> out;
  for (const ValueType& item : given) {
    const auto number = ConstantOf(item);
    if (!number) return {};
    out.push_back(*number);
  }
  return out;
}

absl::StatusOr<ValueType> InferList(const std::vector<ValueType>& given) {
  const bool integers =
      std::all_of(given.begin(), given.end(), [](const ValueType& item) {
        return IsWeakInteger(item) &&
               std::holds_alternative<int64_t>(item.literal->value);
      });
  if (!integers) {
    auto joined = InferJoin(Join::kStack, kList, 0, given);
    if (joined.ok()) joined->constants = ConstantsOf(given);
    return joined;
  }
  ValueType result;
  result.constants = ConstantsOf(given);
  result.list.emplace();
  for (const ValueType& item : given) {
    result.list->push_back(std::get<int64_t>(item.literal->value));
  }
  result.shape = {static_cast<int64_t>(given.size())};
  return result;
}

absl::Status ComputeList(std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  if (!arguments.empty()) {
    return ComputeJoin(Join::kStack, kList, 0, arguments, rows, type, out);
  }
  StartRows(type, /*ragged=*/false, out);
  return absl::OkStatus();
}

}  // namespace

void AddJoiningFunctions(FunctionRegistry& registry) {
  registry.Add("list", {InferList, ComputeList});
  registry.Add("concat", MakeJoin(Join::kConcat, "concat"));
  registry.Add("stack", MakeJoin(Join::kStack, "stack"));
  registry.Describe({{"list"},
                     "`[a, b, …]`",
                     "the values along a new first axis, in their common "
                     "dtype; of the same shape"});
  registry.Describe(
      {{"concat"},
       "`concat(a, b, …, axis)`",
       "NumPy's concatenate: shapes are equal but along the axis. One value, "
       "as in `concat([a, b], axis)`: its items along the first axis"});
  registry.Describe({{"stack"},
                     "`stack(a, b, …, axis)`",
                     "along a new axis; `stack([a, b], axis)` is the same"});
}

}  // namespace feedmill
