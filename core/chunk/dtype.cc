#include "core/chunk/dtype.h"

#include <array>

#include "feedmill/element.h"

namespace feedmill {
namespace {

struct Info {
  std::string_view name;
  size_t size;
};

constexpr std::array<Info, 15> kInfos = {{{"", 0},
                                          {"bool", 1},
                                          {"int8", 1},
                                          {"int16", 2},
                                          {"int32", 4},
                                          {"int64", 8},
                                          {"uint8", 1},
                                          {"uint16", 2},
                                          {"uint32", 4},
                                          {"uint64", 8},
                                          {"float32", 4},
                                          {"float64", 8},
                                          {"bytes", 0},
                                          {"float16", 2},
                                          {"bfloat16", 2}}};

constexpr std::array<std::string_view, 7> kLogicalNames = {"",
                                                           "str",
                                                           "date",
                                                           "timestamp[s]",
                                                           "timestamp[ms]",
                                                           "timestamp[us]",
                                                           "timestamp[ns]"};

}  // namespace

size_t ItemSize(DType dtype) { return kInfos[static_cast<size_t>(dtype)].size; }

std::string_view DTypeName(DType dtype) {
  return kInfos[static_cast<size_t>(dtype)].name;
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (uint8_t code = 1; code < kInfos.size(); ++code) {
    if (kInfos[code].name == name) return static_cast<DType>(code);
  }
  return std::nullopt;
}

std::string_view TypeName(DType dtype, LogicalType logical) {
  if (logical == LogicalType::kNone) return DTypeName(dtype);
  return kLogicalNames[static_cast<size_t>(logical)];
}

std::optional<NamedType> TypeFromName(std::string_view name) {
  if (name == "timestamp") name = "timestamp[us]";
  for (uint8_t code = 1; code < kLogicalNames.size(); ++code) {
    if (kLogicalNames[code] != name) continue;
    const auto logical = static_cast<LogicalType>(code);
    return NamedType{
        logical == LogicalType::kString ? DType::kBytes : DType::kInt64,
        logical};
  }
  const std::optional<DType> dtype = DTypeFromName(name);
  if (!dtype) return std::nullopt;
  return NamedType{*dtype, LogicalType::kNone};
}

bool IsLogicalTypeCode(uint8_t code, DType dtype) {
  if (code >= kLogicalNames.size()) return false;
  return code == 0 || dtype == TypeFromName(kLogicalNames[code])->dtype;
}

bool IsDTypeCode(uint8_t code) { return code >= 1 && code < kInfos.size(); }

bool IsInteger(DType dtype) {
  return dtype >= DType::kInt8 && dtype <= DType::kUInt64;
}

bool IsSigned(DType dtype) {
  return dtype >= DType::kInt8 && dtype <= DType::kInt64;
}

bool IsFloat16(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
         IsFloat16(dtype);
}

}  // namespace feedmill
