#include "core/plan/combination.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/source_kind.h"
#include "core/plan/input_combiner.h"
#include "core/plan/plan.h"

namespace feedmill {

std::optional<uint64_t> Combination::Plus(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum > kPositionsMax) {
    return std::nullopt;
  }
  return sum;
}

std::optional<uint64_t> Combination::Times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kPositionsMax) {
    return std::nullopt;
  }
  return product;
}

uint64_t Combination::Turns(size_t input) const {
  const uint64_t used = Used(input);
  const uint64_t size = sizes_[input];
  if (used == kInfinite || size == kInfinite || size == 0) return 1;
  return std::max<uint64_t>(1, used / size + (used % size != 0));
}

absl::StatusOr<uint64_t> TotalSize(const std::vector<uint64_t>& sizes) {
  constexpr uint64_t kPositionsMax = uint64_t{1} << 63;
  uint64_t sum = 0;
  for (const uint64_t size : sizes) {
    if (size == kInfinite) return kInfinite;
    if (size > kPositionsMax - sum) {
      return InvalidArgument("the inputs have more than 2^63 elements");
    }
    sum += size;
  }
  return sum;
}

absl::StatusOr<std::shared_ptr<const Combination>> CombineInputs(
    const Source& source, std::vector<uint64_t> sizes, uint64_t limit) {
  FM_CHECK(!sizes.empty() && source.kind().combiner() != nullptr);
  return source.kind().combiner()->Combine(source.options(), std::move(sizes),
                                           limit);
}

}  // namespace feedmill
