#include "core/ops/example_layout.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <system_error>

#include "core/ops/protobuf_fields.h"

namespace feedmill {

static_assert(std::endian::native == std::endian::little);

void ExampleLayout::Begin(std::string_view record) {
  size_ = kNone;
  words_.clear();
  learnt_ = record;
  passed_ = 0;
}

void ExampleLayout::Leave(std::string_view part) {
  const auto begin = static_cast<size_t>(part.data() - learnt_.data());
  Keep(begin);
  passed_ = begin + part.size();
}

void ExampleLayout::Finish() {
  if (learnt_.size() < sizeof(uint64_t)) return;
  Keep(learnt_.size());
  size_ = learnt_.size();
  learnt_ = {};
}

// Declares that the bytes from `passed_` to `end` are the same in all records.
void ExampleLayout::Keep(size_t end) {
  if (learnt_.size() < sizeof(uint64_t)) return;
  for (size_t at = passed_; at < end; at += sizeof(uint64_t)) {
    Word word{std::min(at, learnt_.size() - sizeof(uint64_t))};
    const size_t unused =
        sizeof(uint64_t) - std::min(sizeof(uint64_t), end - at);
    word.mask = ~uint64_t{0} >> 8 * unused << 8 * (at - word.at);
    std::memcpy(&word.bytes, learnt_.data() + word.at, sizeof word.bytes);
    words_.push_back(word);
  }
}

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
