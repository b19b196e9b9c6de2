#ifndef FEEDMILL_CORE_PLAN_POSITIONS_H_
#define FEEDMILL_CORE_PLAN_POSITIONS_H_

#include <cstdint>
#include <optional>

#include "core/plan/plan.h"

namespace feedmill {

// Largest number of positions of a finite plan.
inline constexpr uint64_t kPositionsMax = uint64_t{1} << 63;

// Returns a * b; 0 if one of them is 0, else kInfinite if one of them is;
// nullopt above kPositionsMax.
inline std::optional<uint64_t> Product(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kInfinite || b == kInfinite) return kInfinite;
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kPositionsMax) {
    return std::nullopt;
  }
  return product;
}

// Returns a count from options; 0 if it is negative.
inline uint64_t Unsigned(int64_t count) {
  return count < 0 ? 0 : static_cast<uint64_t>(count);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_POSITIONS_H_
