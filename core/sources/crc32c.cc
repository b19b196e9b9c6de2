#include "core/sources/crc32c.h"

#include <array>

#include "core/sources/crc32c_instructions.h"

namespace feedmill {
namespace {

// tables[k][b]: the CRC of byte b followed by k zero bytes (slicing by 8).
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrc32cPolynomial : 0);
    }
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t crc = tables[k - 1][b];
      tables[k][b] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}
constexpr auto kTables = MakeTables();

}  // namespace

uint32_t Crc32cPortable(std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint32_t crc = 0xffffffff;
  for (; left >= 8; left -= 8, at += 8) {
    const uint64_t x = crc32c::LoadU64(at) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) {
      crc ^= kTables[7 - k][(x >> (8 * k)) & 0xff];
    }
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(*at)) & 0xff];
  }
  return ~crc;
}

uint32_t Crc32c(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  if (HasCrc32cInstructions()) return Crc32cInstructions(bytes);
#endif
  return Crc32cPortable(bytes);
}

}  // namespace feedmill
