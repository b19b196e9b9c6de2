#include "core/ops/row_items.h"

#include <algorithm>
#include <limits>

#include "core/base/status.h"
#include "core/ops/promotion.h"

namespace feedmill {

absl::StatusOr<int64_t> ConstantInteger(std::string_view where,
                                        const ValueType& type) {
  const int64_t* value = IsWeakInteger(type)
                             ? std::get_if<int64_t>(&type.literal->value)
                             : nullptr;
  if (value == nullptr) {
    return InvalidArgument("{} is an integer constant", where);
  }
  return *value;
}

absl::StatusOr<Shape> ConstantIntegers(std::string_view where,
                                       const ValueType& type) {
  if (type.list) return *type.list;
  const absl::StatusOr<int64_t> one = ConstantInteger(where, type);
  if (one.ok()) return Shape{*one};
  return InvalidArgument("{} is a list of integer constants", where);
}

absl::StatusOr<std::string> ConstantText(std::string_view where,
                                         const ValueType& type) {
  const std::string* text =
      type.literal ? std::get_if<std::string>(&type.literal->value) : nullptr;
  if (text == nullptr) return InvalidArgument("{} is a constant text", where);
  return *text;
}

absl::StatusOr<DType> ConstantDType(std::string_view where,
                                    const ValueType& type) {
  const std::string* text =
      type.literal ? std::get_if<std::string>(&type.literal->value) : nullptr;
  const std::optional<DType> dtype = text == nullptr  ? std::nullopt
                                     : *text == "str" ? DType::kBytes
                                                      : DTypeFromName(*text);
  if (!dtype) {
    return InvalidArgument("{} is the name of a dtype, as in float32", where);
  }
  return *dtype;
}

absl::StatusOr<size_t> ConstantAxis(std::string_view function,
                                    const ValueType& type, size_t rank) {
  FM_ASSIGN_OR_RETURN(
      const int64_t axis,
      ConstantInteger(fmt::format("{}: the axis", function), type));
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    return InvalidArgument("{}: there is no axis {} in {} dimension{}",
                           function, axis, rank, rank == 1 ? "" : "s");
  }
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::vector<const ValueType*> TypesOf(const std::vector<ValueType>& given) {
  std::vector<const ValueType*> types;
  for (const ValueType& type : given) types.push_back(&type);
  return types;
}

std::vector<const ValueType*> TypesOf(std::span<const Argument> arguments) {
  std::vector<const ValueType*> types;
  for (const Argument& argument : arguments) types.push_back(argument.type);
  return types;
}

bool HasUnknownDim(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), kUnknownDim) != shape.end();
}

int64_t Product(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

AxisSplit SplitAtAxis(std::span<const int64_t> dims, size_t axis) {
  return {Product(dims.first(axis)), dims[axis],
          Product(dims.subspan(axis + 1))};
}

std::vector<int64_t> IntegersOf(const Argument& argument, size_t rows) {
  std::vector<int64_t> integers(argument.constant ? 1 : rows);
  if (integers.empty()) return integers;
  const Column& from = *argument.column;
  ConvertItems(from.dtype, from.values.data(), DType::kInt64, integers.data(),
               integers.size());
  if (from.dtype == DType::kUInt64) {
    for (int64_t& value : integers) {
      if (value < 0) value = std::numeric_limits<int64_t>::max();
    }
  }
  return integers;
}

absl::Status CheckIsInteger(std::string_view where, const ValueType& type) {
  if (IsInteger(type.dtype) && type.shape.empty()) return absl::OkStatus();
  return InvalidArgument("{} is {}{}, not an integer", where,
                         DTypeName(type.dtype), ShapeToString(type.shape));
}

void StartRows(const ValueType& type, bool ragged, OutputColumn& out) {
  out.Reset(type.dtype, type.shape);
  if (type.dtype == DType::kBytes) out.offsets.Push(int64_t{0});
  if (ragged) out.row_starts.Push(int64_t{0});
}

void EndRaggedRow(std::span<const int64_t> dims, OutputColumn& out) {
  const auto* starts = out.row_starts.As<int64_t>();
  const int64_t last = starts[out.row_starts.size() / sizeof(int64_t) - 1];
  out.row_starts.Push(last + Product(dims));
  out.row_shapes.Append(dims.data(), dims.size() * sizeof(int64_t));
}

void AppendItems(const Column& from, int64_t begin, int64_t count,
                 OutputColumn& out) {
  if (from.dtype != DType::kBytes) {
    const size_t size = ItemSize(from.dtype);
    out.values.Append(from.values.data() + static_cast<size_t>(begin) * size,
                      static_cast<size_t>(count) * size);
    return;
  }
  for (int64_t item = begin; item < begin + count; ++item) {
    const std::string_view bytes = from.BytesAt(item);
    out.values.Append(bytes.data(), bytes.size());
    out.offsets.Push(static_cast<int64_t>(out.values.size()));
  }
}

int64_t CopyRowShapes(const Argument& argument, size_t rows,
                      const ValueType& type, OutputColumn& out) {
  const Column& from = *argument.column;
  StartRows(type, from.ragged(), out);
  if (rows == 0) return 0;
  if (!from.ragged()) {
    out.shape = from.shape;
    return static_cast<int64_t>(rows) * NumItems(from.shape);
  }
  for (size_t row = 0; row < rows; ++row) {
    EndRaggedRow(from.RowDims(RowOf(argument, row)), out);
  }
  return out.row_starts.As<int64_t>()[rows];
}

absl::Status AsDataLoss(const absl::Status& status) {
  return absl::DataLossError(status.message());
}

}  // namespace feedmill
