#include "core/ops/example_lists.h"

#include <charconv>
#include <cstring>
#include <system_error>

#include "core/ops/protobuf_fields.h"

namespace feedmill {
namespace {

float FloatAt(const char* bytes) {
  float value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

template <class Number>
bool ParseNumber(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

}  // namespace

bool ReadBytesList(std::string_view list, std::vector<std::string_view>& out) {
  FieldReader reader(list);
  ProtobufField field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.IsMessage(1)) out.push_back(field.bytes);
  }
  return true;
}

bool ReadInt64List(std::string_view list, std::vector<int64_t>& out) {
  FieldReader reader(list);
  ProtobufField field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.number != 1) continue;
    if (field.type == WireType::kVarint) {
      out.push_back(static_cast<int64_t>(field.varint));
    } else if (field.type == WireType::kLength) {
      FieldReader packed(field.bytes);
      while (!packed.done()) {
        uint64_t value = 0;
        if (!packed.Varint(value)) return false;
        out.push_back(static_cast<int64_t>(value));
      }
    }
  }
  return true;
}

bool AppendPacked(std::string_view packed, std::vector<float>& out) {
  if (packed.size() % sizeof(float) != 0) return false;
  const size_t old = out.size();
  out.resize(old + packed.size() / sizeof(float));
  if (!packed.empty()) {
    std::memcpy(out.data() + old, packed.data(), packed.size());
  }
  return true;
}

bool ReadFloatList(std::string_view list, std::vector<float>& out) {
  FieldReader reader(list);
  ProtobufField field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.number != 1) continue;
    if (field.type == WireType::kFixed32) {
      out.push_back(FloatAt(field.bytes.data()));
    } else if (field.type == WireType::kLength) {
      if (!AppendPacked(field.bytes, out)) return false;
    }
  }
  return true;
}

bool ParseDefault(const Feature& feature, int64_t& integer, float& real) {
  if (!feature.default_text || feature.dtype == DType::kBytes) return true;
  return feature.dtype == DType::kFloat32
             ? ParseNumber(*feature.default_text, real)
             : ParseNumber(*feature.default_text, integer);
}

}  // namespace feedmill
