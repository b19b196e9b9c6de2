#include "core/base/vector_target.h"
#include "core/ops/image_resizing.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace feedmill {
namespace {

constexpr size_t kChannels = 3;
// The value 1 of fixed-point weights, which have 11 fraction bits.
constexpr float kOne = 2048;
constexpr size_t kTogether = 4;    // pixels computed together
constexpr size_t kLoadBytes = 16;  // for two pixels, six bytes
// With AVX-512: items computed together, and bytes loaded for them.
constexpr size_t kItemsTogether = 16;
constexpr size_t kWideLoadBytes = 64;

// The two source lines between which a target line lies, and their weights.
struct Tap {
  int64_t first;
  int16_t weights[2];
};

// Computes taps as OpenCV does, in the same types.
std::vector<Tap> TapsOf(int64_t from, int64_t to) {
  const double scale =
      1. / (static_cast<double>(to) / static_cast<double>(from));
  std::vector<Tap> taps;
  taps.reserve(static_cast<size_t>(to) + kTogether);
  for (int64_t k = 0; k < to; ++k) {
    auto within =
        static_cast<float>((static_cast<double>(k) + 0.5) * scale - 0.5);
    const auto first = static_cast<int64_t>(std::floor(within));
    within -= static_cast<float>(first);
    // Half to even, as cvRound.
    taps.push_back({first,
                    {static_cast<int16_t>(std::lrintf((1.F - within) * kOne)),
                     static_cast<int16_t>(std::lrintf(within * kOne))}});
  }
  return taps;
}

// The columns for groups of four pixels.
struct Columns {
  std::vector<uint32_t> offsets;  // of source pixels, in bytes
  std::vector<int16_t> weights;  // eight per pixel: of 0 and 2, of 1 and 3, …
};

// Clamps the taps so that all but the last column lie between two source
// columns.
std::vector<Tap> ColumnTapsOf(int64_t from, int64_t to) {
  std::vector<Tap> taps = TapsOf(from, to);
  for (Tap& tap : taps) {
    if (tap.first < 0) tap = {0, {static_cast<int16_t>(kOne), 0}};
    if (tap.first >= from - 1) {
      tap = {from - 1, {static_cast<int16_t>(kOne), 0}};
    }
  }
  return taps;
}

Columns ColumnsOf(int64_t from, int64_t to) {
  std::vector<Tap> taps = ColumnTapsOf(from, to);
  while (taps.size() % kTogether != 0) taps.push_back(taps.back());
  Columns columns;
  columns.weights.reserve(taps.size() * 8);
  for (size_t k = 0; k < taps.size(); ++k) {
    columns.offsets.push_back(static_cast<uint32_t>(taps[k].first) * kChannels);
    const size_t of = k / 4 * 4 + std::array<size_t, 4>{0, 2, 1, 3}[k % 4];
    for (int i = 0; i < 4; ++i) {
      columns.weights.push_back(taps[of].weights[0]);
      columns.weights.push_back(taps[of].weights[1]);
    }
  }
  return columns;
}

// The columns for groups of sixteen items whose source bytes are close
// together.
struct WideColumns {
  struct Group {
    alignas(64) std::array<
        uint8_t, kWideLoadBytes> places{};  // of bytes in the loaded range
    alignas(64) std::array<int16_t, 2 * kItemsTogether> weights{};
    uint32_t offset = 0;  // of the loaded range
  };
  std::vector<Group> groups;  // empty: source bytes are too far apart
};

WideColumns WideColumnsOf(int64_t from, int64_t to) {
  const std::vector<Tap> taps = ColumnTapsOf(from, to);
  const size_t items = static_cast<size_t>(to) * kChannels;
  WideColumns columns;
  columns.groups.reserve(items / kItemsTogether + 1);
  for (size_t first = 0; first < items; first += kItemsTogether) {
    WideColumns::Group group;
    group.offset =
        static_cast<uint32_t>(taps[first / kChannels].first) * kChannels;
    for (size_t k = 0; k < kItemsTogether; ++k) {
      const size_t item = std::min(first + k, items - 1);
      const Tap& tap = taps[item / kChannels];
      const size_t place = static_cast<size_t>(tap.first) * kChannels +
                           item % kChannels - group.offset;
      if (place + kChannels >= kWideLoadBytes) return {};
      group.places[4 * k] = static_cast<uint8_t>(place);
      group.places[4 * k + 2] = static_cast<uint8_t>(place + kChannels);
      group.weights[2 * k] = tap.weights[0];
      group.weights[2 * k + 1] = tap.weights[1];
    }
    columns.groups.push_back(group);
  }
  return columns;
}

// Same as ResizeRow. Writes up to 15 items after the end. REQUIRES:
// kWideLoadBytes are readable at each offset.
[[gnu::target("avx512f,avx512bw,avx512vbmi")]] void ResizeRowWide(
    const uint8_t* row, const WideColumns& columns, int16_t* out) {
  constexpr __mmask64 kEvenBytes = 0x5555'5555'5555'5555;
  constexpr __mmask16 kAll = 0xffff;
  for (const WideColumns::Group& group : columns.groups) {
    const __m512i pairs = _mm512_maskz_permutexvar_epi8(
        kEvenBytes, _mm512_load_si512(group.places.data()),
        _mm512_loadu_si512(row + group.offset));
    const __m512i sums =
        _mm512_madd_epi16(pairs, _mm512_load_si512(group.weights.data()));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm512_maskz_cvtepi32_epi16(
                            kAll, _mm512_maskz_srai_epi32(kAll, sums, 4)));
    out += kItemsTogether;
  }
}

bool HasWideRows() {
  static const bool has_vbmi = __builtin_cpu_supports("avx512vbmi") != 0;
  return has_vbmi && LoopTarget() >= VectorTarget::kAvx512;
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i LoadTwo(
    const uint8_t* low, const uint8_t* high) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}

// Resizes one source row to the target's width. The results are OpenCV's
// intermediate values divided by 16, because OpenCV uses only these bits.
// Writes 4 items after the end. REQUIRES: kLoadBytes are readable at each
// offset.
[[gnu::target("avx2")]] void ResizeRow(const uint8_t* row,
                                       const Columns& columns, int16_t* out) {
  constexpr char kNone = -1;
  // Shuffle: red, green and blue of a pixel, each next to the same color
  // of the next pixel.
  const __m256i pairs = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, kNone, 3, kNone, 1, kNone, 4, kNone, 2, kNone, 5, kNone,
                    kNone, kNone, kNone, kNone));
  const __m256i three_of_four = _mm256_broadcastsi128_si256(_mm_setr_epi8(
      0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, kNone, kNone, kNone, kNone));
  const uint32_t* at = columns.offsets.data();
  const int16_t* weights = columns.weights.data();
  for (size_t k = 0; k < columns.offsets.size(); k += kTogether) {
    const __m256i even =
        _mm256_shuffle_epi8(LoadTwo(row + at[k], row + at[k + 2]), pairs);
    const __m256i odd =
        _mm256_shuffle_epi8(LoadTwo(row + at[k + 1], row + at[k + 3]), pairs);
    const auto* const w = reinterpret_cast<const __m256i*>(weights + 8 * k);
    const __m256i sums = _mm256_packs_epi32(
        _mm256_srai_epi32(_mm256_madd_epi16(even, _mm256_loadu_si256(w)), 4),
        _mm256_srai_epi32(_mm256_madd_epi16(odd, _mm256_loadu_si256(w + 1)),
                          4));
    const __m256i items = _mm256_shuffle_epi8(sums, three_of_four);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm256_castsi256_si128(items));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 6),
                     _mm256_extracti128_si256(items, 1));
    out += kTogether * kChannels;
  }
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i Between(
    const int16_t* upper, const int16_t* lower, __m256i upper_weight,
    __m256i lower_weight) {
  const __m256i a = _mm256_mulhi_epi16(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(upper)),
      upper_weight);
  const __m256i b = _mm256_mulhi_epi16(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lower)),
      lower_weight);
  const __m256i sum =
      _mm256_add_epi16(_mm256_add_epi16(a, b), _mm256_set1_epi16(2));
  return _mm256_srai_epi16(sum, 2);
}

[[gnu::target("avx2"), gnu::always_inline]] inline void Mix32(
    const int16_t* upper, const int16_t* lower, __m256i upper_weight,
    __m256i lower_weight, uint8_t* out) {
  const __m256i bytes = _mm256_packus_epi16(
      Between(upper, lower, upper_weight, lower_weight),
      Between(upper + 16, lower + 16, upper_weight, lower_weight));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_permute4x64_epi64(bytes, 0b11'01'10'00));
}

// Computes a target row from the two source rows around it.
[[gnu::target("avx2")]] void MixRows(const int16_t* upper, const int16_t* lower,
                                     const int16_t* weights, uint8_t* out,
                                     size_t items) {
  const __m256i w0 = _mm256_set1_epi16(weights[0]);
  const __m256i w1 = _mm256_set1_epi16(weights[1]);
  size_t k = 0;
  for (; k + 32 <= items; k += 32) {
    Mix32(upper + k, lower + k, w0, w1, out + k);
  }
  if (k < items && items >= 32) {
    k = items - 32;
    Mix32(upper + k, lower + k, w0, w1, out + k);
    return;
  }
  for (; k < items; ++k) {
    const int sum =
        (weights[0] * upper[k] >> 16) + (weights[1] * lower[k] >> 16);
    out[k] = static_cast<uint8_t>((sum + 2) >> 2);
  }
}

// Source rows in the target's width; keeps the last two.
class WideRows {
 public:
  WideRows(std::span<const uint8_t> source, size_t row_bytes, ImageSize from,
           ImageSize to)
      : source_(source),
        row_bytes_(row_bytes),
        last_row_(from.height - 1),
        width_bytes_(static_cast<size_t>(from.width) * kChannels) {
    if (HasWideRows()) wide_columns_ = WideColumnsOf(from.width, to.width);
    if (wide_columns_.groups.empty()) {
      columns_ = ColumnsOf(from.width, to.width);
      loaded_ = columns_.offsets.back() + kLoadBytes;
    } else {
      loaded_ = wide_columns_.groups.back().offset + kWideLoadBytes;
    }
    for (Row& row : rows_) {
      row.items.resize(static_cast<size_t>(to.width) * kChannels +
                       kItemsTogether);
    }
  }

  // Returns row `y` of the source, clamped to its rows. Valid until the second
  // call from now.
  const int16_t* At(int64_t y) {
    y = std::clamp<int64_t>(y, 0, last_row_);
    if (rows_[0].y == y) return rows_[0].items.data();
    if (rows_[1].y != y) {
      Read(y, rows_[0]);
      std::swap(rows_[0], rows_[1]);
    }
    return rows_[1].items.data();
  }

 private:
  struct Row {
    int64_t y = -1;
    std::vector<int16_t> items;
  };

  void Read(int64_t y, Row& row) {
    const size_t begin = static_cast<size_t>(y) * row_bytes_;
    const uint8_t* from = source_.data() + begin;
    if (begin + loaded_ > source_.size()) {
      padded_.assign(std::max(loaded_, width_bytes_), 0);
      std::memcpy(padded_.data(), from, width_bytes_);
      from = padded_.data();
    }
    if (wide_columns_.groups.empty()) {
      ResizeRow(from, columns_, row.items.data());
    } else {
      ResizeRowWide(from, wide_columns_, row.items.data());
    }
    row.y = y;
  }

  const std::span<const uint8_t> source_;
  const size_t row_bytes_;
  const int64_t last_row_;
  const size_t width_bytes_;
  // Only one of these is used.
  Columns columns_;
  WideColumns wide_columns_;
  size_t loaded_ = 0;  // bytes that are loaded from the begin of a row
  Row rows_[2];        // the older one first
  std::vector<uint8_t> padded_;
};

}  // namespace

bool ResizeRgbBilinear(std::span<const uint8_t> source, size_t row_bytes,
                       ImageSize from, uint8_t* target, ImageSize to) {
  const bool halved =
      from.height == 2 * to.height && from.width == 2 * to.width;
  if (LoopTarget() < VectorTarget::kAvx2 || from == to || halved) return false;
  WideRows rows(source, row_bytes, from, to);
  const auto items = static_cast<size_t>(to.width) * kChannels;
  for (const Tap& tap : TapsOf(from.height, to.height)) {
    const int16_t* const upper = rows.At(tap.first);
    const int16_t* const lower = rows.At(tap.first + 1);
    MixRows(upper, lower, tap.weights, target, items);
    target += items;
  }
  return true;
}

}  // namespace feedmill

#else

namespace feedmill {

bool ResizeRgbBilinear(std::span<const uint8_t>, size_t, ImageSize, uint8_t*,
                       ImageSize) {
  return false;
}

}  // namespace feedmill

#endif
