#include "core/sources/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
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

// The instruction takes 3 cycles but starts each cycle, so that three streams
// run at once, of as many words each.
constexpr size_t kWordsMax = 128;
constexpr size_t kWordsMin = 4;  // below, joining them takes longer

// What a CRC register is to be multiplied by so that, after one instruction
// more, it is that of `words` words later: x^(64 * words - 33) modulo the
// polynomial. (The instruction multiplies by x^32, the product of two reflected
// polynomials has one x more.)
constexpr std::array<uint64_t, 2 * kWordsMax + 1> MakeFactors() {
  std::array<uint64_t, 2 * kWordsMax + 1> factors{};
  uint32_t power = uint32_t{1} << 31;  // x^0
  int exponent = 0;
  for (size_t words = 1; words < factors.size(); ++words) {
    for (; exponent < static_cast<int>(64 * words) - 33; ++exponent) {
      power = (power >> 1) ^ ((power & 1) != 0 ? kPolynomial : 0);
    }
    factors[words] = power;
  }
  return factors;
}
constexpr auto kFactors = MakeFactors();

__attribute__((target("sse4.2,pclmul"))) __m128i Times(uint64_t crc,
                                                       uint64_t factor) {
  return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(crc)),
                              _mm_cvtsi64_si128(static_cast<int64_t>(factor)),
                              0);
}

__attribute__((target("sse4.2,pclmul"))) uint64_t ThreeStreams(
    const std::byte* at, size_t words, uint64_t crc) {
  const std::byte* const middle = at + 8 * words;
  const std::byte* const last = middle + 8 * words;
  uint64_t second = 0;
  uint64_t third = 0;
  for (size_t i = 0; i < 8 * words; i += 8) {
    crc = _mm_crc32_u64(crc, LoadU64(at + i));
    second = _mm_crc32_u64(second, LoadU64(middle + i));
    third = _mm_crc32_u64(third, LoadU64(last + i));
  }
  const __m128i joined = _mm_xor_si128(Times(crc, kFactors[2 * words]),
                                       Times(second, kFactors[words]));
  return _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(joined))) ^
         third;
}

__attribute__((target("sse4.2,pclmul"))) uint32_t Crc32cInstructions(
    std::span<const std::byte> bytes) {
  uint64_t crc = 0xffffffff;
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  while (left >= 24 * kWordsMin) {
    const size_t words = left / 24 < kWordsMax ? left / 24 : kWordsMax;
    crc = ThreeStreams(at, words, crc);
    at += 24 * words;
    left -= 24 * words;
  }
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, LoadU64(at));
  auto tail = static_cast<uint32_t>(crc);
  if (left >= 4) {
    uint32_t word;
    std::memcpy(&word, at, sizeof word);
    tail = _mm_crc32_u32(tail, word);
    at += 4;
    left -= 4;
  }
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
  static const bool fast = __builtin_cpu_supports("sse4.2") != 0 &&
                           __builtin_cpu_supports("pclmul") != 0;
  if (fast) return Crc32cInstructions(bytes);
#endif
  return Crc32cPortable(bytes);
}

}  // namespace feedmill
