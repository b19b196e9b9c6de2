#include "core/ops/selected_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/ops/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace feedmill {
namespace {

static_assert(std::endian::native == std::endian::little);

bool IsSet(const uint64_t* bits, size_t row) {
  return (bits[row / 64] >> (row % 64) & 1) != 0;
}

// Copies items [begin, end) without a branch, because the kept items are
// unpredictable. Returns the end of the output.
template <class T>
std::byte* CopySome(const uint64_t* bits, size_t begin, size_t end,
                    const std::byte* from, std::byte* to) {
  for (size_t row = begin; row < end; ++row) {
    std::memcpy(to, from + row * sizeof(T), sizeof(T));
    to += IsSet(bits, row) ? sizeof(T) : 0;
  }
  return to;
}

std::byte* CopyAny(const uint64_t* bits, size_t rows, size_t item_bytes,
                   const std::byte* from, std::byte* to) {
  for (size_t w = 0; w < WordsOf(rows); ++w) {
    for (uint64_t mask = bits[w]; mask != 0; mask &= mask - 1) {
      const size_t row = 64 * w + static_cast<size_t>(std::countr_zero(mask));
      std::memcpy(to, from + row * item_bytes, item_bytes);
      to += item_bytes;
    }
  }
  return to;
}

#if defined(__x86_64__)

[[gnu::target("arch=x86-64-v3")]] size_t SelectAvx2(const uint8_t* keep,
                                                    size_t words,
                                                    uint64_t* bits) {
  const __m256i zero = _mm256_setzero_si256();
  size_t count = 0;
  for (size_t w = 0; w < words; ++w) {
    uint64_t dropped = 0;
    for (size_t half = 0; half < 64; half += 32) {
      const __m256i bytes = _mm256_loadu_si256(
          reinterpret_cast<const __m256i*>(keep + 64 * w + half));
      const auto zeros = static_cast<uint32_t>(
          _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, zero)));
      dropped |= uint64_t{zeros} << half;
    }
    bits[w] = ~dropped;
    count += static_cast<size_t>(std::popcount(bits[w]));
  }
  return count;
}

// For each mask of the items in 32 bytes, the indexes of the selected
// items, one byte each.
template <class T>
constexpr std::array<uint64_t, size_t{1} << 32 / sizeof(T)> ChosenLanes() {
  constexpr size_t kLanes = sizeof(T) / 4;
  std::array<uint64_t, size_t{1} << 32 / sizeof(T)> chosen{};
  for (size_t mask = 0; mask < chosen.size(); ++mask) {
    size_t at = 0;
    for (size_t lane = 0; lane < 8; ++lane) {
      if ((mask >> lane / kLanes & 1) == 0) continue;
      chosen[mask] |= uint64_t{lane} << 8 * at++;
    }
  }
  return chosen;
}

// Copies all items of whole words, as CopyWordsAvx512 does.
template <class T>  // of 4 or 8 bytes
[[gnu::target("arch=x86-64-v3")]] std::byte* CopyWordsAvx2(
    const uint64_t* bits, size_t words, const std::byte* from, std::byte* to) {
  static constexpr auto kChosen = ChosenLanes<T>();
  constexpr size_t kTogether = 32 / sizeof(T);
  for (size_t w = 0; w < words; ++w) {
    const uint64_t mask = bits[w];
#pragma GCC unroll 16
    for (size_t k = 0; k < 64; k += kTogether, from += 32) {
      const uint64_t below = mask & ((uint64_t{1} << k) - 1);
      std::byte* const at =
          to + sizeof(T) * static_cast<size_t>(std::popcount(below));
      const uint64_t lanes = kChosen[mask >> k & (kChosen.size() - 1)];
      const __m256i items =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      const __m256i places =
          _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(lanes)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(at),
                          _mm256_permutevar8x32_epi32(items, places));
    }
    to += sizeof(T) * static_cast<size_t>(std::popcount(mask));
  }
  return to;
}

[[gnu::target("arch=x86-64-v4")]] size_t SelectAvx512(const uint8_t* keep,
                                                      size_t words,
                                                      uint64_t* bits) {
  size_t count = 0;
  for (size_t w = 0; w < words; ++w) {
    const __m512i bytes = _mm512_loadu_si512(keep + 64 * w);
    bits[w] = _mm512_test_epi8_mask(bytes, bytes);
    count += static_cast<size_t>(std::popcount(bits[w]));
  }
  return count;
}

// Copies all items of whole words. The address of each vector depends on the
// word only, so that no store waits for an earlier one.
template <class T>  // of 4 or 8 bytes
[[gnu::target("arch=x86-64-v4")]] std::byte* CopyWordsAvx512(
    const uint64_t* bits, size_t words, const std::byte* from, std::byte* to) {
  constexpr size_t kTogether = 64 / sizeof(T);
  constexpr uint64_t kLow = (uint64_t{1} << kTogether) - 1;
  for (size_t w = 0; w < words; ++w) {
    const uint64_t mask = bits[w];
#pragma GCC unroll 8
    for (size_t k = 0; k < 64; k += kTogether, from += 64) {
      const uint64_t below = mask & ((uint64_t{1} << k) - 1);
      std::byte* const at =
          to + sizeof(T) * static_cast<size_t>(std::popcount(below));
      const __m512i items = _mm512_loadu_si512(from);
      const uint64_t some = mask >> k & kLow;
      if constexpr (sizeof(T) == 8) {
        _mm512_storeu_si512(at, _mm512_maskz_compress_epi64(
                                    static_cast<__mmask8>(some), items));
      } else {
        _mm512_storeu_si512(at, _mm512_maskz_compress_epi32(
                                    static_cast<__mmask16>(some), items));
      }
    }
    to += sizeof(T) * static_cast<size_t>(std::popcount(mask));
  }
  return to;
}

#endif

template <class T>
std::byte* CopyItems(const uint64_t* bits, size_t rows, const std::byte* from,
                     std::byte* to) {
  size_t begin = 0;
#if defined(__x86_64__)
  if constexpr (sizeof(T) >= 4) {
    if (LoopTarget() != VectorTarget::kBaseline) {
      begin = rows / 64 * 64;
      to = LoopTarget() == VectorTarget::kAvx512
               ? CopyWordsAvx512<T>(bits, rows / 64, from, to)
               : CopyWordsAvx2<T>(bits, rows / 64, from, to);
    }
  }
#endif
  return CopySome<T>(bits, begin, rows, from, to);
}

std::byte* CopyBySize(const uint64_t* bits, size_t rows, size_t item_bytes,
                      const std::byte* from, std::byte* to) {
  switch (item_bytes) {
    case 1:
      return CopyItems<uint8_t>(bits, rows, from, to);
    case 2:
      return CopyItems<uint16_t>(bits, rows, from, to);
    case 4:
      return CopyItems<uint32_t>(bits, rows, from, to);
    case 8:
      return CopyItems<uint64_t>(bits, rows, from, to);
    default:
      return CopyAny(bits, rows, item_bytes, from, to);
  }
}

}  // namespace

size_t SelectRows(std::span<const uint8_t> keep, uint64_t* bits) {
  size_t row = 0;
  size_t count = 0;
#if defined(__x86_64__)
  if (LoopTarget() != VectorTarget::kBaseline) {
    const size_t words = keep.size() / 64;
    count = LoopTarget() == VectorTarget::kAvx512
                ? SelectAvx512(keep.data(), words, bits)
                : SelectAvx2(keep.data(), words, bits);
    row = 64 * words;
  }
#endif
  while (row < keep.size()) {
    const size_t word = row / 64;
    const size_t end = std::min(keep.size(), row + 64);
    bits[word] = 0;
    for (; row < end; ++row) {
      const uint64_t kept = keep[row] != 0 ? 1 : 0;
      bits[word] |= kept << (row % 64);
      count += kept;
    }
  }
  return count;
}

void NumberRows(std::span<const uint64_t> bits, std::vector<uint32_t>& rows) {
  rows.clear();
  for (size_t w = 0; w < bits.size(); ++w) {
    for (uint64_t mask = bits[w]; mask != 0; mask &= mask - 1) {
      rows.push_back(static_cast<uint32_t>(64 * w) +
                     static_cast<uint32_t>(std::countr_zero(mask)));
    }
  }
}

size_t CopySelected(const uint64_t* bits, size_t rows, size_t item_bytes,
                    const std::byte* from, std::byte* to) {
  if (item_bytes == 0) {
    size_t count = 0;
    for (size_t w = 0; w < WordsOf(rows); ++w) {
      count += static_cast<size_t>(std::popcount(bits[w]));
    }
    return count;
  }
  const std::byte* const end = CopyBySize(bits, rows, item_bytes, from, to);
  return static_cast<size_t>(end - to) / item_bytes;
}

}  // namespace feedmill
