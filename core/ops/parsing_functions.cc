#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/map_bytes.h"
#include "core/ops/row_items.h"
#include "core/ops/shown_text.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

// ---- to_number

absl::StatusOr<ValueType> InferToNumber(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("to_number", given.size(), 2));
  FM_ASSIGN_OR_RETURN(const DType dtype,
                      ConstantDType("to_number: the dtype", given[1]));
  if (!IsInteger(dtype) && !IsFloat(dtype)) {
    return InvalidArgument("to_number: {} is not a numeric dtype",
                           DTypeName(dtype));
  }
  return BytesLike("to_number", given[0], dtype);
}

// Parses all of `text`, which may have a sign.
template <class T>
absl::Status ParseNumber(std::string_view text, T& number) {
  const std::string_view digits =
      text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
  const char* end = digits.data() + digits.size();
  std::conditional_t<kIsFloat16<T>, double, T> parsed{};
  auto [stop, error] = std::from_chars(digits.data(), end, parsed);
  number = static_cast<T>(parsed);
  if constexpr (kIsFloat16<T>) {
    if (std::isinf(float{number}) && !std::isinf(parsed)) {
      error = std::errc::result_out_of_range;
    }
  }
  if (error == std::errc::result_out_of_range && stop == end) {
    return DataLoss("to_number: \"{}\" does not fit {}", ShownText(text),
                    DTypeName(DTypeOf<T>()));
  }
  if (error != std::errc() || stop != end) {
    return DataLoss("to_number: \"{}\" is not {}", ShownText(text),
                    kIsFloat<T> ? "a number" : "an integer");
  }
  return absl::OkStatus();
}

absl::Status ComputeToNumber(std::span<const Argument> arguments, size_t rows,
                             const ValueType& type, OutputColumn& out) {
  return VisitNumeric(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return MapBytesTo<T>(arguments[0], rows, type, out, ParseNumber<T>);
  });
}

// ---- decode_raw

absl::StatusOr<ValueType> InferDecodeRaw(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("decode_raw", given.size(), 2));
  FM_ASSIGN_OR_RETURN(const DType dtype,
                      ConstantDType("decode_raw: the dtype", given[1]));
  if (dtype == DType::kBytes) {
    return InvalidArgument("decode_raw: the dtype is bytes, not numeric");
  }
  FM_ASSIGN_OR_RETURN(ValueType result,
                      BytesLike("decode_raw", given[0], dtype));
  if (!result.shape.empty()) {
    return InvalidArgument("decode_raw takes one value a row, not bytes{}",
                           ShapeToString(result.shape));
  }
  result.shape = {kUnknownDim};
  return result;
}

absl::Status ComputeDecodeRaw(std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  StartRows(type, /*ragged=*/true, out);
  const size_t size = ItemSize(type.dtype);
  for (size_t row = 0; row < rows; ++row) {
    const std::string_view bytes =
        from.BytesAt(from.RowStart(RowOf(arguments[0], row)));
    if (bytes.size() % size != 0) {
      out.failed_row = row;
      return DataLoss(
          "decode_raw: {} bytes are not a multiple of the size of {}",
          bytes.size(), DTypeName(type.dtype));
    }
    const auto items = static_cast<int64_t>(bytes.size() / size);
    out.values.Append(bytes.data(), bytes.size());
    EndRaggedRow({&items, 1}, out);
  }
  if (type.dtype == DType::kBool) {  // values other than 0 and 1 are true
    auto* values = out.values.As<uint8_t>();
    std::for_each(values, values + out.values.size(),
                  [](uint8_t& value) { value = value != 0 ? 1 : 0; });
  }
  return absl::OkStatus();
}

// ---- json_field

absl::StatusOr<ValueType> InferJsonField(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("json_field", given.size(), 3));
  FM_RETURN_IF_ERROR(ConstantText("json_field: the path", given[1]).status());
  FM_ASSIGN_OR_RETURN(const DType dtype,
                      ConstantDType("json_field: the dtype", given[2]));
  return BytesLike("json_field", given[0], dtype);
}

// Returns the value at a path like "a.0.b": names of fields and indexes of
// arrays.
const Json* FindField(const Json& whole, std::string_view path) {
  const Json* value = &whole;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
    if (value->is_object()) {
      const auto field = value->find(name);
      if (field == value->end()) return nullptr;
      value = &*field;
      continue;
    }
    size_t place = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data(), end, place);
    if (!value->is_array() || error != std::errc() || stop != end ||
        place >= value->size()) {
      return nullptr;
    }
    value = &(*value)[place];
  }
  return value;
}

// Returns false if the value has another kind or does not fit.
template <class T>
bool ReadNumber(const Json& value, DType dtype, T& to) {
  if (dtype == DType::kBool) {
    if (!value.is_boolean()) return false;
    to = static_cast<T>(value.get<bool>() ? 1 : 0);
    return true;
  }
  if constexpr (kIsFloat<T>) {
    if (!value.is_number()) return false;
    to = static_cast<T>(value.get<double>());
    return true;
  } else if (value.is_number_unsigned()) {
    to = static_cast<T>(value.get<uint64_t>());
    return std::in_range<T>(value.get<uint64_t>());
  } else if (value.is_number_integer()) {
    to = static_cast<T>(value.get<int64_t>());
    return std::in_range<T>(value.get<int64_t>());
  } else {
    return false;
  }
}

// Finds the field in one text and calls read(value), which returns false if the
// value has the wrong type.
template <class F>
absl::Status ReadField(std::string_view text, std::string_view path,
                       DType dtype, const F& read) {
  const Json whole = Json::parse(text.begin(), text.end(), nullptr,
                                 /*allow_exceptions=*/false);
  if (whole.is_discarded()) {
    return DataLoss("json_field: this is not JSON: {}", ShownText(text));
  }
  const Json* value = FindField(whole, path);
  if (value == nullptr) {
    return DataLoss("json_field: there is no field \"{}\" in {}", path,
                    ShownText(text));
  }
  if (read(*value)) return absl::OkStatus();
  return DataLoss(
      "json_field: \"{}\" is not {}: {}", path, DTypeName(dtype),
      ShownText(value->dump(-1, ' ', false, Json::error_handler_t::replace)));
}

absl::Status ComputeJsonField(std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
  const std::string_view path =
      std::get<std::string>(arguments[1].type->literal->value);
  if (type.dtype == DType::kBytes) {
    return MapBytesToBytes(
        arguments[0], rows, type, out,
        [&](std::string_view text, BufferBuilder& to) {
          return ReadField(text, path, type.dtype, [&](const Json& value) {
            const auto* string = value.get_ptr<const std::string*>();
            if (string != nullptr) to.Append(string->data(), string->size());
            return string != nullptr;
          });
        });
  }
  return VisitNumeric(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return MapBytesTo<T>(
        arguments[0], rows, type, out, [&](std::string_view text, T& to) {
          return ReadField(text, path, type.dtype, [&](const Json& value) {
            return ReadNumber(value, type.dtype, to);
          });
        });
  });
}

}  // namespace

void AddParsingFunctions(FunctionRegistry& registry) {
  registry.Add("to_number", {InferToNumber, ComputeToNumber});
  registry.Add("decode_raw", {InferDecodeRaw, ComputeDecodeRaw});
  registry.Add("json_field", {InferJsonField, ComputeJsonField});
  registry.Describe({{"to_number"},
                     "`to_number(s, dtype)`",
                     "all of s, decimal, no spaces; other text, or a number "
                     "out of range, is a data error"});
  registry.Describe(
      {{"decode_raw"},
       "`decode_raw(s, dtype)`",
       "rank 1, little-endian; an incomplete item is a data error"});
  registry.Describe({{"json_field"},
                     "`json_field(s, 'a.0.b', dtype)`",
                     "by fields and places; a value that is absent, of another "
                     "kind or out of range is a data error"});
}

}  // namespace feedmill
