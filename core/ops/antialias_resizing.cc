#include "core/ops/antialias_resizing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/base/vector_target.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace feedmill {
namespace {

constexpr size_t kRgb = 3;
// Pixels of a row that are computed together, and bytes loaded for them.
constexpr size_t kPixelsTogether = 4;
constexpr size_t kPixelLoadBytes = 16;
// Weights of bytes are 16-bit integers of at most this many fraction bits.
constexpr int kFractionBitsMax = 22;

double FilterAt(AntialiasTaps filter, double x) {
  x = std::fabs(x);
  if (filter == AntialiasTaps::kBilinear) return x < 1 ? 1 - x : 0;
  constexpr double kSharpness = -0.5;
  if (x < 1) {
    return ((kSharpness + 2) * x - (kSharpness + 3)) * x * x + 1;
  }
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kSharpness;
  return 0;
}

// With AVX-512: items that are computed together, and bytes loaded for a pair
// of their taps.
constexpr size_t kGroupItems = 16;
constexpr size_t kGroupBytes = 64;

struct RgbGroup {
  alignas(kGroupBytes) std::array<uint8_t, kGroupBytes> places{};
  size_t offset = 0;  // of the bytes for the first pair of taps
};

// The source pixels of each target pixel along one axis, and their weights.
struct TapTable {
  int64_t from = 0;
  int64_t to = 0;
  bool permutes = false;  // HasPermutations() when it was made
  AntialiasTaps filter = AntialiasTaps::kBilinear;
  size_t taps = 0;  // most source pixels of a target pixel, even
  // First source pixel of each target pixel; four more at the end.
  std::vector<size_t> first;
  std::vector<size_t> counts;    // of source pixels
  std::vector<double> exact;     // `taps` weights of each target pixel
  std::vector<int16_t> weights;  // the same with fraction_bits
  int fraction_bits = 0;
  // Weights of four target pixels in the order of ResizeRgbRow. Empty if
  // `groups` is not.
  std::vector<int16_t> of_rgb;
  // With AVX-512: groups of sixteen items whose source bytes are close
  // together.
  std::vector<RgbGroup> groups;
  std::vector<int16_t> of_groups;  // weights: 32 for each pair of taps
};

// Sets the weights of target pixel k. Returns the largest one.
double WeighPixel(TapTable& table, size_t k, double center, double narrowing) {
  double* const weights = &table.exact[k * table.taps];
  const size_t count = table.counts[k];
  double total = 0;
  for (size_t tap = 0; tap < count; ++tap) {
    const auto place = static_cast<double>(table.first[k] + tap);
    weights[tap] = FilterAt(table.filter, (place - center + 0.5) * narrowing);
    total += weights[tap];
  }
  double largest = 0;
  for (size_t tap = 0; tap < count && total != 0; ++tap) {
    weights[tap] /= total;
    largest = std::max(largest, weights[tap]);
  }
  return largest;
}

// Rounds to as many fraction bits as 16-bit weights can have.
void RoundWeights(double largest, TapTable& table) {
  int& bits = table.fraction_bits;
  for (bits = 0; bits < kFractionBitsMax; ++bits) {
    if (std::floor(0.5 + std::ldexp(largest, bits + 1)) >= 1 << 15) break;
  }
  const auto unit = static_cast<double>(1 << bits);
  table.weights.resize(table.exact.size());
  for (size_t k = 0; k < table.exact.size(); ++k) {
    table.weights[k] = static_cast<int16_t>(std::round(table.exact[k] * unit));
  }
}

bool HasPermutations() {
#if defined(__x86_64__)
  static const bool has_vbmi = __builtin_cpu_supports("avx512vbmi") != 0;
  return has_vbmi && LoopTarget() >= VectorTarget::kAvx512;
#else
  return false;
#endif
}

// Pixels 0 and 2, then 1 and 3 of each four; each pair of taps four times.
void ArrangeForRgb(TapTable& table) {
  table.of_rgb.clear();
  const auto pixels = static_cast<size_t>(table.to);
  for (size_t k = 0; k < pixels; k += kPixelsTogether) {
    for (const size_t half : {size_t{0}, size_t{1}}) {
      for (size_t tap = 0; tap < table.taps; tap += 2) {
        for (const size_t other : {size_t{0}, size_t{2}}) {
          const size_t pixel = std::min(k + half + other, pixels - 1);
          const int16_t* const pair = &table.weights[pixel * table.taps + tap];
          for (int n = 0; n < 4; ++n) {
            table.of_rgb.insert(table.of_rgb.end(), pair, pair + 2);
          }
        }
      }
    }
  }
}

// Leaves the groups empty if source bytes are too far apart.
void ArrangeGroups(TapTable& table) {
  const size_t items = table.counts.size() * kRgb;
  table.groups.clear();
  table.of_groups.clear();
  for (size_t begin = 0; begin < items; begin += kGroupItems) {
    RgbGroup group;
    group.offset = table.first[begin / kRgb] * kRgb;
    for (size_t k = 0; k < kGroupItems; ++k) {
      const size_t item = std::min(begin + k, items - 1);
      const size_t place =
          table.first[item / kRgb] * kRgb + item % kRgb - group.offset;
      if (place + kRgb >= kGroupBytes) return table.groups.clear();
      group.places[4 * k] = static_cast<uint8_t>(place);
      group.places[4 * k + 2] = static_cast<uint8_t>(place + kRgb);
    }
    table.groups.push_back(group);
    for (size_t tap = 0; tap < table.taps; tap += 2) {
      for (size_t k = 0; k < kGroupItems; ++k) {
        const size_t pixel = std::min(begin + k, items - 1) / kRgb;
        const int16_t* const pair = &table.weights[pixel * table.taps + tap];
        table.of_groups.insert(table.of_groups.end(), pair, pair + 2);
      }
    }
  }
}

// Makes the table unless it is made.
void SetTaps(int64_t from, int64_t to, AntialiasTaps filter, TapTable& table) {
  if (table.from == from && table.to == to && table.filter == filter &&
      table.permutes == HasPermutations()) {
    return;
  }
  table.permutes = HasPermutations();
  table.from = from;
  table.to = to;
  table.filter = filter;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double radius = filter == AntialiasTaps::kBilinear ? 1 : 2;
  const double support = radius * std::max(scale, 1.0);
  const auto pixels = static_cast<size_t>(to);
  table.first.resize(pixels + kPixelsTogether);
  table.counts.resize(pixels);
  const auto center = [scale](size_t k) {
    return scale * (static_cast<double>(k) + 0.5);
  };
  size_t most = 0;
  for (size_t k = 0; k < pixels; ++k) {
    const double begin = std::max(center(k) - support + 0.5, 0.0);
    const double end =
        std::min(center(k) + support + 0.5, static_cast<double>(from));
    table.first[k] = static_cast<size_t>(begin);
    table.counts[k] = static_cast<size_t>(end) - table.first[k];
    most = std::max(most, table.counts[k]);
  }
  std::fill_n(table.first.end() - kPixelsTogether, kPixelsTogether,
              table.first[pixels - 1]);
  table.taps = (most + 1) / 2 * 2;
  table.exact.assign(pixels * table.taps, 0);
  double largest = 0;
  for (size_t k = 0; k < pixels; ++k) {
    largest = std::max(
        largest, WeighPixel(table, k, center(k), 1 / std::max(scale, 1.0)));
  }
  RoundWeights(largest, table);
  table.groups.clear();
  if (table.permutes) ArrangeGroups(table);
  if (table.groups.empty()) ArrangeForRgb(table);
}

// Computes one item of target pixel k; at(tap) are the source items.
template <class At>
void Weigh(const TapTable& table, size_t k, const At& at, uint8_t& to) {
  const int16_t* const weights = &table.weights[k * table.taps];
  int sum = 1 << (table.fraction_bits - 1);
  for (size_t tap = 0; tap < table.counts[k]; ++tap) {
    sum += at(tap) * weights[tap];
  }
  to = static_cast<uint8_t>(std::clamp(sum >> table.fraction_bits, 0, 255));
}

template <class At>
void Weigh(const TapTable& table, size_t k, const At& at, float& to) {
  const double* const weights = &table.exact[k * table.taps];
  double sum = 0;
  for (size_t tap = 0; tap < table.counts[k]; ++tap) {
    sum += static_cast<double>(at(tap)) * weights[tap];
  }
  to = static_cast<float>(sum);
}

template <class T>
void ResizeOneRow(const T* row, const TapTable& table, size_t channels,
                  T* out) {
  for (size_t k = 0; k < table.counts.size(); ++k) {
    const T* const from = row + table.first[k] * channels;
    for (size_t c = 0; c < channels; ++c) {
      Weigh(
          table, k, [&](size_t tap) { return from[tap * channels + c]; },
          *out++);
    }
  }
}

// Computes items from `begin` on of target row k.
template <class T>
void MixOneRow(const T* const* rows, const TapTable& table, size_t k,
               size_t begin, size_t items, T* out) {
  for (size_t n = begin; n < items; ++n) {
    Weigh(
        table, k, [&](size_t tap) { return rows[tap][n]; }, out[n]);
  }
}

#if defined(__x86_64__)

// Loads the bytes from a tap on of two pixels.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i LoadTaps(
    const uint8_t* low, const uint8_t* high, size_t tap) {
  const auto load = reinterpret_cast<const __m128i*>(low + tap * kRgb);
  const auto next = reinterpret_cast<const __m128i*>(high + tap * kRgb);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(load)),
                                 _mm_loadu_si128(next), 1);
}

// Adds the weighed taps of two pixels, one in each half.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i SumTaps(
    const uint8_t* low, const uint8_t* high, size_t taps,
    const __m256i* weights, __m256i sum) {
  constexpr char kNone = -1;
  const __m256i first = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, kNone, 3, kNone, 1, kNone, 4, kNone, 2, kNone, 5, kNone,
                    kNone, kNone, kNone, kNone));
  const __m256i second = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, kNone, 9, kNone, 7, kNone, 10, kNone, 8, kNone, 11,
                    kNone, kNone, kNone, kNone, kNone));
  size_t tap = 0;
  for (; tap + 4 <= taps; tap += 4, weights += 2) {
    const __m256i bytes = LoadTaps(low, high, tap);
    const __m256i a = _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, first),
                                        _mm256_loadu_si256(weights));
    const __m256i b = _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, second),
                                        _mm256_loadu_si256(weights + 1));
    sum = _mm256_add_epi32(sum, _mm256_add_epi32(a, b));
  }
  if (tap == taps) return sum;
  const __m256i bytes = LoadTaps(low, high, tap);
  return _mm256_add_epi32(sum,
                          _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, first),
                                            _mm256_loadu_si256(weights)));
}

// Same as ResizeOneRow for three channels. Writes up to 16 bytes after the
// end. REQUIRES: kPixelLoadBytes are readable at each second tap.
[[gnu::target("avx2")]] void ResizeRgbRow(const uint8_t* row,
                                          const TapTable& table, uint8_t* out) {
  constexpr char kNone = -1;
  const __m256i rgb = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, kNone, kNone, kNone, kNone, kNone, kNone,
                    kNone, kNone, kNone, kNone));
  const __m256i half = _mm256_set1_epi32(1 << (table.fraction_bits - 1));
  const __m128i bits = _mm_cvtsi32_si128(table.fraction_bits);
  const size_t taps = table.taps;
  const auto* weights = reinterpret_cast<const __m256i*>(table.of_rgb.data());
  const size_t* const first = table.first.data();
  for (size_t k = 0; k < table.counts.size(); k += kPixelsTogether) {
    const auto at = [&](size_t n) { return row + first[k + n] * kRgb; };
    const __m256i even = SumTaps(at(0), at(2), taps, weights, half);
    const __m256i odd = SumTaps(at(1), at(3), taps, weights + taps / 2, half);
    weights += taps;
    const __m256i words = _mm256_packs_epi32(_mm256_sra_epi32(even, bits),
                                             _mm256_sra_epi32(odd, bits));
    const __m256i bytes =
        _mm256_shuffle_epi8(_mm256_packus_epi16(words, words), rgb);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out),
                     _mm256_castsi256_si128(bytes));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 6),
                     _mm256_extracti128_si256(bytes, 1));
    out += kPixelsTogether * kRgb;
  }
}

// Same as ResizeRgbRow. Writes up to 15 bytes after the end. REQUIRES:
// kGroupBytes are readable at each second tap of each group.
[[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi")]] void ResizeRgbGroups(
    const uint8_t* row, const TapTable& table, uint8_t* out) {
  constexpr __mmask64 kEvenBytes = 0x5555'5555'5555'5555;
  const __m512i half = _mm512_set1_epi32(1 << (table.fraction_bits - 1));
  const __m512i zero = _mm512_setzero_si512();
  const __m128i bits = _mm_cvtsi32_si128(table.fraction_bits);
  const int16_t* weights = table.of_groups.data();
  const size_t loads = table.taps / 2;
  for (const RgbGroup& group : table.groups) {
    const __m512i places = _mm512_load_si512(group.places.data());
    const uint8_t* from = row + group.offset;
    __m512i sum = half;
    for (size_t k = 0; k < loads; ++k, from += 2 * kRgb) {
      const __m512i pairs = _mm512_maskz_permutexvar_epi8(
          kEvenBytes, places, _mm512_loadu_si512(from));
      sum = _mm512_add_epi32(
          sum, _mm512_madd_epi16(pairs, _mm512_loadu_si512(weights)));
      weights += 2 * kGroupItems;
    }
    constexpr __mmask16 kAll = 0xffff;
    const __m512i values = _mm512_maskz_max_epi32(
        kAll, _mm512_maskz_sra_epi32(kAll, sum, bits), zero);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm512_maskz_cvtusepi32_epi8(kAll, values));
    out += kGroupItems;
  }
}

// Computes 32 items from `at` on.
[[gnu::target("avx2"), gnu::always_inline]] inline void Mix32(
    const uint8_t* const* rows, const int16_t* weights, size_t taps,
    int fraction_bits, size_t at, uint8_t* out) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i a = _mm256_set1_epi32(1 << (fraction_bits - 1));
  __m256i b = a;
  __m256i c = a;
  __m256i d = a;
  for (size_t tap = 0; tap < taps; tap += 2) {
    int pair = 0;
    std::memcpy(&pair, weights + tap, sizeof pair);
    const __m256i w = _mm256_set1_epi32(pair);
    const __m256i x =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[tap] + at));
    const __m256i y = _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(rows[tap + 1] + at));
    const __m256i low = _mm256_unpacklo_epi8(x, y);
    const __m256i high = _mm256_unpackhi_epi8(x, y);
    a = _mm256_add_epi32(a,
                         _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), w));
    b = _mm256_add_epi32(b,
                         _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), w));
    c = _mm256_add_epi32(
        c, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), w));
    d = _mm256_add_epi32(
        d, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), w));
  }
  const __m128i bits = _mm_cvtsi32_si128(fraction_bits);
  const __m256i words =
      _mm256_packs_epi32(_mm256_sra_epi32(a, bits), _mm256_sra_epi32(b, bits));
  const __m256i more =
      _mm256_packs_epi32(_mm256_sra_epi32(c, bits), _mm256_sra_epi32(d, bits));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at),
                      _mm256_packus_epi16(words, more));
}

// Same as MixOneRow. REQUIRES: there are `taps` rows.
[[gnu::target("avx2")]] void MixBytes(const uint8_t* const* rows,
                                      const TapTable& table, size_t k,
                                      size_t items, uint8_t* out) {
  constexpr size_t kTogether = 32;
  const int16_t* const weights = &table.weights[k * table.taps];
  const int bits = table.fraction_bits;
  size_t n = 0;
  for (; n + kTogether <= items; n += kTogether) {
    Mix32(rows, weights, table.taps, bits, n, out);
  }
  if (n < items && items >= kTogether) {
    return Mix32(rows, weights, table.taps, bits, items - kTogether, out);
  }
  MixOneRow(rows, table, k, n, items, out);
}

#endif

// The memory of a thread, used again for the next image.
template <class T>
struct AntialiasScratch {
  TapTable across;
  TapTable down;
  std::vector<T> rows;  // resized along x: the last ones that are needed
  std::vector<T> padded;
  std::vector<const T*> window;
};

// Resizes rows of an image along x as they are needed, and then along y.
template <class T>
class AntialiasPass {
 public:
  AntialiasPass(const T* source, size_t row_bytes, ImageSize from,
                size_t channels, ImageSize to, AntialiasScratch<T>& scratch)
      : source_(source),
        row_items_(row_bytes / sizeof(T)),
        channels_(channels),
        height_(static_cast<size_t>(from.height)),
        given_(static_cast<size_t>(from.width) * channels),
        items_(static_cast<size_t>(to.width) * channels),
        stride_(items_ + kPixelLoadBytes),
        scratch_(scratch) {
    scratch.rows.resize(scratch.down.taps * stride_);
    scratch.window.resize(scratch.down.taps);
    const TapTable& across = scratch.across;
    loaded_ = (across.first.back() + across.taps) * channels + kGroupBytes;
  }

  void Write(T* target) {
    const TapTable& down = scratch_.down;
    for (size_t k = 0; k < down.counts.size(); ++k, target += items_) {
      if (down.from == down.to) {
        std::copy_n(RowAt(k), items_, target);
        continue;
      }
      for (size_t tap = 0; tap < down.taps; ++tap) {
        scratch_.window[tap] =
            RowAt(down.first[k] + std::min(tap, down.counts[k] - 1));
      }
      Mix(scratch_.window.data(), k, target);
    }
  }

 private:
  // Returns row y in the target's width. Valid until `taps` rows further.
  const T* RowAt(size_t y) {
    const T* const row = source_ + y * row_items_;
    if (scratch_.across.from == scratch_.across.to) return row;
    T* const made = &scratch_.rows[y % scratch_.down.taps * stride_];
    for (; made_ <= y; ++made_) {
      ResizeRow(made_, &scratch_.rows[made_ % scratch_.down.taps * stride_]);
    }
    return made;
  }

  void ResizeRow(size_t y, T* out) {
    const T* row = source_ + y * row_items_;
#if defined(__x86_64__)
    if constexpr (sizeof(T) == 1) {
      if (channels_ == kRgb && LoopTarget() >= VectorTarget::kAvx2) {
        if (y * row_items_ + loaded_ > (height_ - 1) * row_items_ + given_) {
          scratch_.padded.assign(std::max(loaded_, given_), 0);
          std::copy_n(row, given_, scratch_.padded.data());
          row = scratch_.padded.data();
        }
        return scratch_.across.groups.empty()
                   ? ResizeRgbRow(row, scratch_.across, out)
                   : ResizeRgbGroups(row, scratch_.across, out);
      }
    }
#endif
    ResizeOneRow(row, scratch_.across, channels_, out);
  }

  void Mix(const T* const* rows, size_t k, T* out) {
#if defined(__x86_64__)
    if constexpr (sizeof(T) == 1) {
      if (LoopTarget() >= VectorTarget::kAvx2) {
        return MixBytes(rows, scratch_.down, k, items_, out);
      }
    }
#endif
    MixOneRow(rows, scratch_.down, k, 0, items_, out);
  }

  const T* const source_;
  const size_t row_items_;
  const size_t channels_;
  const size_t height_;
  const size_t given_;   // items of a source row
  const size_t items_;   // items of a target row
  const size_t stride_;  // of rows in scratch
  AntialiasScratch<T>& scratch_;
  size_t loaded_ = 0;  // items that are loaded from the begin of a row
  size_t made_ = 0;    // rows resized along x
};

template <class T>
void ResizeBothAxes(const T* source, size_t row_bytes, ImageSize from,
                    size_t channels, AntialiasTaps filter, T* target,
                    ImageSize to) {
  thread_local AntialiasScratch<T> scratch;
  SetTaps(from.width, to.width, filter, scratch.across);
  SetTaps(from.height, to.height, filter, scratch.down);
  AntialiasPass<T>(source, row_bytes, from, channels, to, scratch)
      .Write(target);
}

}  // namespace

void ResizeAntialias(const uint8_t* source, size_t row_bytes, ImageSize from,
                     size_t channels, AntialiasTaps filter, uint8_t* target,
                     ImageSize to) {
  ResizeBothAxes(source, row_bytes, from, channels, filter, target, to);
}

void ResizeAntialias(const float* source, size_t row_bytes, ImageSize from,
                     size_t channels, AntialiasTaps filter, float* target,
                     ImageSize to) {
  ResizeBothAxes(source, row_bytes, from, channels, filter, target, to);
}

}  // namespace feedmill
