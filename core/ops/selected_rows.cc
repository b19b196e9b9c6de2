#include "core/ops/selected_rows.h"

#include <bit>
#include <cstring>

#include "core/ops/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace feedmill {
namespace {

static_assert(std::endian::native == std::endian::little);

// Numbers are written this many at a time, the last beyond the end.
constexpr size_t kRowsTogether = 16;

// Rows [begin, keep.size()); without a branch on what is kept, which cannot be
// foreseen. Returns where `rows` ends. REQUIRES: the bits are zero.
uint32_t* SelectSomeRows(std::span<const uint8_t> keep, size_t begin,
                         uint64_t* bits, uint32_t* rows) {
  for (size_t row = begin; row < keep.size(); ++row) {
    const uint64_t kept = keep[row] != 0 ? 1 : 0;
    bits[row / 64] |= kept << (row % 64);
    *rows = static_cast<uint32_t>(row);
    rows += kept;
  }
  return rows;
}

template <class T>
void GatherItems(std::span<const uint32_t> rows, const std::byte* from,
                 std::byte* to) {
  const T* const in = reinterpret_cast<const T*>(from);
  T* const out = reinterpret_cast<T*>(to);
  for (size_t k = 0; k < rows.size(); ++k) out[k] = in[rows[k]];
}

void GatherAny(std::span<const uint32_t> rows, size_t item_bytes,
               const std::byte* from, std::byte* to) {
  for (const uint32_t row : rows) {
    std::memcpy(to, from + row * item_bytes, item_bytes);
    to += item_bytes;
  }
}

#if defined(__x86_64__)

[[gnu::target("arch=x86-64-v4")]] uint32_t* SelectRowsAvx512(
    std::span<const uint8_t> keep, size_t words, uint64_t* bits,
    uint32_t* rows) {
  const __m512i step = _mm512_set1_epi32(kRowsTogether);
  __m512i number =
      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (size_t w = 0; w < words; ++w) {
    const __m512i bytes = _mm512_loadu_si512(keep.data() + 64 * w);
    uint64_t mask = _mm512_test_epi8_mask(bytes, bytes);
    bits[w] = mask;
    for (size_t k = 0; k < 64; k += kRowsTogether, mask >>= kRowsTogether) {
      const auto some = static_cast<__mmask16>(mask);
      _mm512_storeu_si512(rows, _mm512_maskz_compress_epi32(some, number));
      rows += std::popcount(static_cast<uint16_t>(some));
      number = _mm512_add_epi32(number, step);
    }
  }
  return rows;
}

// All that words name, but no more than `to` has room for: no row comes to
// stand behind where it was.
template <class T>  // of 4 or 8 bytes
[[gnu::target("arch=x86-64-v4")]] std::byte* CopyItems(const uint64_t* bits,
                                                       size_t words,
                                                       const std::byte* from,
                                                       std::byte* to) {
  constexpr size_t kTogether = 64 / sizeof(T);
  for (size_t w = 0; w < words; ++w) {
    uint64_t mask = bits[w];
    for (size_t k = 0; k < 64; k += kTogether, mask >>= kTogether, from += 64) {
      const __m512i items = _mm512_loadu_si512(from);
      const uint64_t some = mask & ((uint64_t{1} << kTogether) - 1);
      if constexpr (sizeof(T) == 8) {
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(
                                    static_cast<__mmask8>(some), items));
      } else {
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(
                                    static_cast<__mmask16>(some), items));
      }
      to += sizeof(T) * static_cast<size_t>(std::popcount(some));
    }
  }
  return to;
}

#endif

}  // namespace

void SelectRows(std::span<const uint8_t> keep, SelectedRows& selected) {
  selected.bits.assign((keep.size() + 63) / 64, 0);
  selected.rows.resize(keep.size() + kRowsTogether);
  uint64_t* const bits = selected.bits.data();
  uint32_t* end = selected.rows.data();
  size_t begin = 0;
#if defined(__x86_64__)
  if (LoopTarget() == VectorTarget::kAvx512) {
    begin = keep.size() / 64 * 64;
    end = SelectRowsAvx512(keep, begin / 64, bits, end);
  }
#endif
  end = SelectSomeRows(keep, begin, bits, end);
  selected.rows.resize(static_cast<size_t>(end - selected.rows.data()));
}

void CopySelected(const SelectedRows& selected, size_t item_bytes,
                  const std::byte* from, std::byte* to) {
  std::span<const uint32_t> rows = selected.rows;
#if defined(__x86_64__)
  if (LoopTarget() == VectorTarget::kAvx512 && selected.bits.size() > 1 &&
      (item_bytes == 8 || item_bytes == 4)) {
    // The last word may name rows that are not there.
    const size_t words = selected.bits.size() - 1;
    std::byte* const end =
        item_bytes == 8
            ? CopyItems<uint64_t>(selected.bits.data(), words, from, to)
            : CopyItems<uint32_t>(selected.bits.data(), words, from, to);
    rows = rows.subspan(static_cast<size_t>(end - to) / item_bytes);
    to = end;
  }
#endif
  switch (item_bytes) {
    case 0:
      return;
    case 1:
      return GatherItems<uint8_t>(rows, from, to);
    case 2:
      return GatherItems<uint16_t>(rows, from, to);
    case 4:
      return GatherItems<uint32_t>(rows, from, to);
    case 8:
      return GatherItems<uint64_t>(rows, from, to);
    default:
      return GatherAny(rows, item_bytes, from, to);
  }
}

}  // namespace feedmill
