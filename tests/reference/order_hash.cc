#include <xxhash.h>

#include <cstdio>

#include "tests/reference/interpreter.h"

namespace feedmill::reference {
namespace {

template <class T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void PutItem(std::string& out, DType dtype, long double v) {
  switch (dtype) {
    case DType::kBool:
      return Put(out, static_cast<uint8_t>(v));
    case DType::kInt8:
      return Put(out, static_cast<int8_t>(v));
    case DType::kInt16:
      return Put(out, static_cast<int16_t>(v));
    case DType::kInt32:
      return Put(out, static_cast<int32_t>(v));
    case DType::kInt64:
      return Put(out, static_cast<int64_t>(v));
    case DType::kUInt8:
      return Put(out, static_cast<uint8_t>(v));
    case DType::kUInt16:
      return Put(out, static_cast<uint16_t>(v));
    case DType::kUInt32:
      return Put(out, static_cast<uint32_t>(v));
    case DType::kUInt64:
      return Put(out, static_cast<uint64_t>(v));
    case DType::kFloat32:
      return Put(out, static_cast<float>(v));
    case DType::kFloat64:
      return Put(out, static_cast<double>(v));
    case DType::kFloat16:
      return Put(out, Float16(static_cast<double>(v)));
    case DType::kBFloat16:
      return Put(out, BFloat16(static_cast<float>(v)));
    case DType::kBytes:
      break;
  }
}

}  // namespace

std::string OrderHash(const std::vector<Element>& elements) {
  uint64_t hash = 0;
  for (const Element& element : elements) {
    std::string text;
    for (const Component& c : element) {
      Put<uint64_t>(text, c.name.size());
      text += c.name;
      Put(text, static_cast<uint8_t>(c.value.dtype));
      Put(text, static_cast<uint8_t>(c.value.shape.size()));
      for (int64_t d : c.value.shape)
        Put<uint64_t>(text, static_cast<uint64_t>(d));
      for (long double v : c.value.numbers) PutItem(text, c.value.dtype, v);
      for (const std::string& s : c.value.strings) {
        Put<uint64_t>(text, s.size());
        text += s;
      }
    }
    const uint64_t pair[2] = {hash, XXH3_64bits(text.data(), text.size())};
    hash = XXH3_64bits(pair, sizeof pair);
  }
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx",
                static_cast<unsigned long long>(hash));
  return hex;
}

}  // namespace feedmill::reference
