#ifndef FEEDMILL_CORE_BASE_LEB128_H_
#define FEEDMILL_CORE_BASE_LEB128_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// LEB128 numbers take as few bytes as they need: seven bits a byte, the lowest
// first. The eighth bit is set in all bytes but the last.

namespace feedmill {

inline void PutLeb128(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    bytes.push_back(static_cast<char>(value | 0x80));
  }
  bytes.push_back(static_cast<char>(value));
}

// Removes a number from the front of `bytes` and returns it; nullopt if `bytes`
// ends too early or the number has more than 64 bits.
inline std::optional<uint64_t> TakeLeb128(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    const uint64_t bits = byte & 0x7f;
    if ((bits << shift) >> shift != bits) return std::nullopt;
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_LEB128_H_
