#ifndef FEEDMILL_CORE_SOURCES_CRC32C_INSTRUCTIONS_H_
#define FEEDMILL_CORE_SOURCES_CRC32C_INSTRUCTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

// CRC-32C with x86 instructions, for loops that are compiled for them.

namespace feedmill {

inline constexpr uint32_t kCrc32cPolynomial = 0x82f63b78;  // reflected

namespace crc32c {

inline uint64_t LoadU64(const std::byte* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace crc32c

#if defined(__x86_64__)

inline bool HasCrc32cInstructions() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0 &&
                          __builtin_cpu_supports("pclmul") != 0;
  return has;
}

namespace crc32c {

// The instruction has a latency of 3 cycles, but one can start in each cycle.
// Three streams of the same number of words run in parallel.
inline constexpr size_t kWordsMax = 128;
inline constexpr size_t kWordsMin =
    4;  // below, joining the streams takes longer

// Factors for joining streams. A CRC register times factors[words], followed by
// one instruction, is the register after `words` more words: x^(64 * words -
// 33) modulo the polynomial. (The instruction multiplies by x^32, and the
// product of two reflected polynomials has an additional factor x.)
constexpr std::array<uint64_t, 2 * kWordsMax + 1> MakeFactors() {
  std::array<uint64_t, 2 * kWordsMax + 1> factors{};
  uint32_t power = uint32_t{1} << 31;  // x^0
  int exponent = 0;
  for (size_t words = 1; words < factors.size(); ++words) {
    for (; exponent < static_cast<int>(64 * words) - 33; ++exponent) {
      power = (power >> 1) ^ ((power & 1) != 0 ? kCrc32cPolynomial : 0);
    }
    factors[words] = power;
  }
  return factors;
}
inline constexpr auto kFactors = MakeFactors();

[[gnu::target("sse4.2,pclmul")]] inline __m128i Times(uint64_t crc,
                                                      uint64_t factor) {
  return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(crc)),
                              _mm_cvtsi64_si128(static_cast<int64_t>(factor)),
                              0);
}

[[gnu::target("sse4.2,pclmul")]] inline uint64_t ThreeStreams(
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

[[gnu::target("sse4.2")]] inline uint32_t Crc32cOfWord(uint64_t word) {
  return ~static_cast<uint32_t>(_mm_crc32_u64(0xffffffff, word));
}

[[gnu::target("sse4.2,pclmul")]] inline uint32_t Crc32cInstructions(
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

}  // namespace crc32c

using crc32c::Crc32cInstructions;
using crc32c::Crc32cOfWord;

#endif

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_CRC32C_INSTRUCTIONS_H_
