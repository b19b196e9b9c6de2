#ifndef FEEDMILL_CORE_BASE_LITTLE_ENDIAN_H_
#define FEEDMILL_CORE_BASE_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// Numbers whose lowest byte is the first, as files and messages hold them.

namespace feedmill {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied as they are in memory");

// Appends the 8 bytes of `value`.
inline void PutU64(std::string& out, uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Returns the T at byte `at`. The caller checks that `bytes` is long enough.
template <class T>
T LoadLittleEndian(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_LITTLE_ENDIAN_H_
