#include "core/sources/index_order.h"

#include <algorithm>
#include <array>
#include <bit>

namespace feedmill {
namespace {

// Fewer records are sorted by comparison.
constexpr size_t kCountedMin = 256;
constexpr int kDigitBits = 11;  // the counts stay in the first-level cache

// Stable counting sort by the `bits` bits of index - least from `shift` on.
void OrderByDigit(const std::vector<IndexedRow>& from, uint64_t least,
                  int shift, int bits, std::vector<IndexedRow>& to) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  std::array<size_t, size_t{1} << kDigitBits> place{};
  for (const IndexedRow& one : from) {
    ++place[(one.index - least) >> shift & mask];
  }
  size_t before = 0;
  for (size_t digit = 0; digit <= mask; ++digit) {
    const size_t count = place[digit];
    place[digit] = before;
    before += count;
  }
  to.resize(from.size());
  for (const IndexedRow& one : from) {
    to[place[(one.index - least) >> shift & mask]++] = one;
  }
}

}  // namespace

void OrderByIndex(std::span<const uint64_t> indexes,
                  std::vector<IndexedRow>& ordered,
                  std::vector<IndexedRow>& spare) {
  ordered.resize(indexes.size());
  uint64_t least = ~uint64_t{0};
  uint64_t most = 0;
  for (size_t row = 0; row < indexes.size(); ++row) {
    ordered[row] = {indexes[row], row};
    least = std::min(least, indexes[row]);
    most = std::max(most, indexes[row]);
  }
  if (indexes.size() < kCountedMin) {
    std::sort(ordered.begin(), ordered.end());
    return;
  }
  const int bits = std::max(static_cast<int>(std::bit_width(most - least)), 1);
  const int digits = (bits + kDigitBits - 1) / kDigitBits;
  const int digit_bits = (bits + digits - 1) / digits;
  for (int shift = 0; shift < bits; shift += digit_bits) {
    OrderByDigit(ordered, least, shift, digit_bits, spare);
    ordered.swap(spare);
  }
}

}  // namespace feedmill
