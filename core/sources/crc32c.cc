#include "core/sources/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace feedmill {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

// tables[k][b]: the CRC of byte b followed by k zero bytes (slicing by 8).
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
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

uint64_t LoadU64(const std::byte* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

#if defined(__x86_64__)

// Bytes of each of three parallel streams: of large data, and of the rest.
constexpr size_t kLargeStride = 1024;
constexpr size_t kSmallStride = 128;

// The CRC register after `bytes` zero bytes, as a linear map given by where
// each of its four bytes goes. The instruction takes 3 cycles but starts each
// cycle, so three streams run at once and are joined by this.
using ShiftTable = std::array<std::array<uint32_t, 256>, 4>;
constexpr ShiftTable MakeShiftTable(size_t bytes) {
  std::array<uint32_t, 32> basis{};
  for (size_t bit = 0; bit < 32; ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < bytes; ++i) {
      crc = (crc >> 8) ^ kTables[0][crc & 0xff];
    }
    basis[bit] = crc;
  }
  ShiftTable table{};
  for (size_t k = 0; k < 4; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      uint32_t crc = 0;
      for (size_t bit = 0; bit < 8; ++bit) {
        if (((b >> bit) & 1) != 0) crc ^= basis[8 * k + bit];
      }
      table[k][b] = crc;
    }
  }
  return table;
}

uint32_t Shift(const ShiftTable& table, uint32_t crc) {
  return table[0][crc & 0xff] ^ table[1][(crc >> 8) & 0xff] ^
         table[2][(crc >> 16) & 0xff] ^ table[3][crc >> 24];
}

// As much of the bytes as three streams of kStride bytes each take.
template <size_t kStride>
__attribute__((target("sse4.2"))) uint64_t ThreeStreams(
    std::span<const std::byte>& bytes, uint64_t crc) {
  static const ShiftTable shift = MakeShiftTable(kStride);
  while (bytes.size() >= 3 * kStride) {
    const std::byte* const at = bytes.data();
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kStride; i += 8) {
      crc = _mm_crc32_u64(crc, LoadU64(at + i));
      second = _mm_crc32_u64(second, LoadU64(at + kStride + i));
      third = _mm_crc32_u64(third, LoadU64(at + 2 * kStride + i));
    }
    crc = Shift(shift, static_cast<uint32_t>(crc)) ^ second;
    crc = Shift(shift, static_cast<uint32_t>(crc)) ^ third;
    bytes = bytes.subspan(3 * kStride);
  }
  return crc;
}

__attribute__((target("sse4.2"))) uint32_t Crc32cSse42(
    std::span<const std::byte> bytes) {
  uint64_t crc = 0xffffffff;
  crc = ThreeStreams<kLargeStride>(bytes, crc);
  crc = ThreeStreams<kSmallStride>(bytes, crc);
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, LoadU64(at));
  uint32_t tail = static_cast<uint32_t>(crc);
  for (; left > 0; --left, ++at) {
    tail = _mm_crc32_u8(tail, static_cast<uint8_t>(*at));
  }
  return ~tail;
}

#endif

}  // namespace

uint32_t Crc32cPortable(std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint32_t crc = 0xffffffff;
  for (; left >= 8; left -= 8, at += 8) {
    const uint64_t x = LoadU64(at) ^ crc;
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
  static const bool fast = __builtin_cpu_supports("sse4.2") != 0;
  if (fast) return Crc32cSse42(bytes);
#endif
  return Crc32cPortable(bytes);
}

}  // namespace feedmill
