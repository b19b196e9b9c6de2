// Values of MDS samples: their encodings, and the components that they become.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/formats/mds_shard.h"
#include "core/sources/record_decoder.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

constexpr size_t kAxesMax = 63;

// Returns the dtype of the items of an array or scalar.
std::optional<DType> ItemTypeOf(std::string_view name) {
  const auto dtype = DTypeFromName(name);
  if (dtype == DType::kBool || dtype == DType::kBytes ||
      dtype == DType::kBFloat16) {
    return std::nullopt;
  }
  return dtype;
}

std::string_view NameOfCode(uint8_t code) {
  static constexpr std::pair<uint8_t, std::string_view> kNames[] = {
      {8, "uint8"},    {9, "int8"},    {16, "uint16"}, {17, "int16"},
      {18, "float16"}, {32, "uint32"}, {33, "int32"},  {34, "float32"},
      {64, "uint64"},  {65, "int64"},  {66, "float64"}};
  for (const auto& [own, name] : kNames) {
    if (own == code) return name;
  }
  return "";
}

// A parsed encoding, such as "ndarray:float32:2,3".
struct ArrayEncoding {
  std::string_view dtype;      // empty: each value has it
  std::optional<Shape> shape;  // absent: each value has it
};

absl::StatusOr<ArrayEncoding> ParseArrayEncoding(std::string_view encoding) {
  ArrayEncoding out;
  const auto wrong = [&] {
    return DataLoss("the encoding \"{}\" is unknown", Shown(encoding));
  };
  std::string_view rest = encoding.substr(std::string_view("ndarray").size());
  if (rest.empty()) return out;
  rest.remove_prefix(1);
  const size_t colon = rest.find(':');
  out.dtype = rest.substr(0, colon);
  if (!ItemTypeOf(out.dtype)) return wrong();
  if (colon == rest.npos) return out;
  std::string_view dims = rest.substr(colon + 1);
  Shape& shape = out.shape.emplace();
  while (true) {
    const size_t comma = dims.find(',');
    const std::string_view dim = dims.substr(0, comma);
    int64_t value = 0;
    const auto [stop, error] =
        std::from_chars(dim.data(), dim.data() + dim.size(), value);
    if (error != std::errc() || stop != dim.data() + dim.size() || value < 1 ||
        shape.size() == kAxesMax) {
      return wrong();
    }
    shape.push_back(value);
    if (comma == dims.npos) return out;
    dims.remove_prefix(comma + 1);
  }
}

// A numeric value: its type, shape and bytes.
struct NumberValue {
  DType type;
  Shape shape;
  std::string_view items;
};

absl::Status TooShort() { return DataLoss("its value is cut short"); }

// Takes the shape from the beginning of a value. One byte has the number of
// axes and the width of their lengths; then the lengths follow.
absl::Status TakeShape(std::string_view& value, Shape& shape) {
  if (value.empty()) return TooShort();
  const auto head = static_cast<uint8_t>(value[0]);
  const size_t axes = head >> 2;
  const size_t width = size_t{1} << (head & 3);
  value.remove_prefix(1);
  if (value.size() < axes * width) return TooShort();
  for (size_t k = 0; k < axes; ++k) {
    uint64_t dim = 0;
    std::memcpy(&dim, value.data() + k * width, width);
    if (dim > uint64_t{1} << 40) return DataLoss("an axis of it is too long");
    shape.push_back(static_cast<int64_t>(dim));
  }
  value.remove_prefix(axes * width);
  return absl::OkStatus();
}

absl::StatusOr<NumberValue> ArrayValue(std::string_view encoding,
                                       std::string_view value) {
  FM_ASSIGN_OR_RETURN(const ArrayEncoding array, ParseArrayEncoding(encoding));
  std::string_view dtype = array.dtype;
  if (dtype.empty()) {
    if (value.empty()) return TooShort();
    dtype = NameOfCode(static_cast<uint8_t>(value[0]));
    value.remove_prefix(1);
  }
  const auto type = ItemTypeOf(dtype);
  if (!type) return DataLoss("its value has an unknown dtype");
  NumberValue out{*type, {}, {}};
  if (array.shape) {
    out.shape = *array.shape;
  } else {
    FM_RETURN_IF_ERROR(TakeShape(value, out.shape));
  }
  out.items = value;
  return out;
}

// Parses an image of PIL: width, height, length of the mode, the mode, the
// pixels.
absl::StatusOr<NumberValue> PixelValue(std::string_view value) {
  std::array<uint32_t, 3> head;
  if (value.size() < sizeof head) return TooShort();
  std::memcpy(head.data(), value.data(), sizeof head);
  value.remove_prefix(sizeof head);
  if (head[2] > value.size()) return TooShort();
  const std::string_view mode = value.substr(0, head[2]);
  const int64_t channels = mode == "L"                        ? 1
                           : mode == "RGB" || mode == "YCbCr" ? 3
                           : mode == "RGBA" || mode == "CMYK" ? 4
                                                              : 0;
  if (channels == 0) {
    return DataLoss(
        "an image of the mode \"{}\" cannot be read; L, RGB, RGBA, "
        "CMYK and YCbCr can",
        Shown(mode));
  }
  return NumberValue{
      DType::kUInt8, {head[1], head[0], channels}, value.substr(head[2])};
}

bool IsArray(std::string_view encoding) {
  return encoding == "ndarray" || encoding.starts_with("ndarray:");
}

std::optional<DType> ScalarOf(std::string_view encoding) {
  if (encoding == "int") return DType::kInt64;
  return ItemTypeOf(encoding);
}

// True for encodings whose values are plain bytes.
bool IsBytes(std::string_view encoding) {
  for (const std::string_view own : {"bytes", "str", "json", "png", "jpeg",
                                     "str_decimal", "str_int", "str_float"}) {
    if (encoding == own) return true;
  }
  return encoding.starts_with("jpeg:");
}

bool HoldsNumberText(std::string_view encoding) {
  return encoding == "str_int" || encoding == "str_float" ||
         encoding == "str_decimal";
}

absl::StatusOr<NumberValue> NumbersOf(std::string_view encoding,
                                      std::string_view value) {
  if (IsArray(encoding)) return ArrayValue(encoding, value);
  if (encoding == "pil") return PixelValue(value);
  if (const auto scalar = ScalarOf(encoding)) {
    return NumberValue{*scalar, {}, value};
  }
  return DataLoss("its encoding \"{}\" cannot be read", Shown(encoding));
}

bool FitsShape(const Shape& shape, const Shape& declared) {
  if (shape.size() != declared.size()) return false;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (declared[k] != kUnknownDim && declared[k] != shape[k]) return false;
  }
  return true;
}

// Returns the bytes of all items of the shape. nullopt on overflow.
std::optional<uint64_t> BytesOf(const NumberValue& value) {
  uint64_t bytes = ItemSize(value.type);
  for (const int64_t dim : value.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace

absl::StatusOr<SourceField> MdsField(const MdsColumn& column,
                                     std::string_view value) {
  SourceField field{column.name, DType::kBytes, {}};
  const std::string_view encoding = column.encoding;
  if (encoding == "str_int" || encoding == "str_float") {
    field.dtype = encoding == "str_int" ? DType::kInt64 : DType::kFloat64;
    return field;
  }
  if (encoding == "str" || encoding == "json" || encoding == "str_decimal") {
    field.logical = LogicalType::kString;
  }
  if (IsBytes(encoding)) return field;
  auto numbers = NumbersOf(encoding, value);
  if (!numbers.ok()) {
    return InvalidArgument(
        "the column \"{}\": {} (`fields` that do not name it do without it)",
        Shown(column.name), ErrorText(numbers.status()));
  }
  field.dtype = numbers->type;
  field.shape = numbers->shape;
  if (IsArray(encoding)) {
    FM_ASSIGN_OR_RETURN(const ArrayEncoding array,
                        ParseArrayEncoding(encoding));
    if (!array.shape) {
      std::fill(field.shape.begin(), field.shape.end(), kUnknownDim);
    }
  } else if (encoding == "pil") {
    field.shape[0] = field.shape[1] = kUnknownDim;
  }
  return field;
}

absl::Status AppendMdsValue(const MdsColumn& column, std::string_view value,
                            const SourceField& field, OutputColumn& out) {
  const bool scalar = field.shape.empty();
  if (field.dtype == DType::kBytes && scalar) {
    const bool stored = IsBytes(column.encoding) || column.encoding == "pkl";
    if (!stored) {
      return DataLoss("the column \"{}\" has the encoding \"{}\", not bytes",
                      Shown(column.name), Shown(column.encoding));
    }
    out.values.Append(value.data(), value.size());
    out.offsets.Push(static_cast<int64_t>(out.values.size()));
    return absl::OkStatus();
  }
  if (HoldsNumberText(column.encoding) && scalar) {
    if (AppendNumber(value, field.dtype, out.values)) return absl::OkStatus();
    return DataLoss("the column \"{}\" is \"{}\", which is no {}",
                    Shown(column.name), Shown(value), DTypeName(field.dtype));
  }
  auto numbers = NumbersOf(column.encoding, value);
  if (!numbers.ok()) {
    return Annotate(numbers.status(),
                    fmt::format("the column \"{}\"", Shown(column.name)));
  }
  // float16 was float32 before feedmill had it.
  const bool widens =
      numbers->type == DType::kFloat16 && field.dtype == DType::kFloat32;
  if ((numbers->type != field.dtype && !widens) ||
      !FitsShape(numbers->shape, field.shape)) {
    return DataLoss("the column \"{}\" is {}{}, not {}{}", Shown(column.name),
                    DTypeName(numbers->type), ShapeToString(numbers->shape),
                    DTypeName(field.dtype), ShapeToString(field.shape));
  }
  if (BytesOf(*numbers) != numbers->items.size()) {
    return DataLoss(
        "the column \"{}\" has {} bytes of items, where its shape {} "
        "needs another number",
        Shown(column.name), numbers->items.size(),
        ShapeToString(numbers->shape));
  }
  const size_t items = numbers->items.size() / ItemSize(numbers->type);
  if (widens) {
    for (size_t k = 0; k < items; ++k) {
      Float16 half;
      std::memcpy(&half, numbers->items.data() + k * sizeof half, sizeof half);
      out.values.Push(float{half});
    }
  } else {
    out.values.Append(numbers->items.data(), numbers->items.size());
  }
  if (out.row_starts.size() == 0) return absl::OkStatus();
  for (const int64_t dim : numbers->shape) out.row_shapes.Push(dim);
  const size_t rows = out.row_starts.size() / sizeof(int64_t);
  out.row_starts.Push(out.row_starts.As<int64_t>()[rows - 1] +
                      static_cast<int64_t>(items));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string_view>> MdsValues(
    const std::vector<MdsColumn>& columns, std::string_view sample) {
  const auto variable = static_cast<size_t>(
      std::count_if(columns.begin(), columns.end(),
                    [](const MdsColumn& column) { return !column.size; }));
  const size_t head = variable * sizeof(uint32_t);
  if (sample.size() < head) return DataLoss("the sample is cut short");
  std::vector<std::string_view> values;
  size_t next = 0;  // of the sizes
  size_t at = head;
  for (const MdsColumn& column : columns) {
    uint64_t size = column.size.value_or(0);
    if (!column.size) {
      uint32_t own = 0;
      std::memcpy(&own, sample.data() + next++ * sizeof own, sizeof own);
      size = own;
    }
    if (size > sample.size() - at) {
      return DataLoss("the sample ends inside the column \"{}\"",
                      Shown(column.name));
    }
    values.push_back(sample.substr(at, size));
    at += size;
  }
  if (at == sample.size()) return values;
  return DataLoss("{} bytes of the sample belong to no column",
                  sample.size() - at);
}

}  // namespace feedmill
