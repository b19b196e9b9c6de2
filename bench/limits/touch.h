#ifndef FEEDMILL_BENCH_LIMITS_TOUCH_H_
#define FEEDMILL_BENCH_LIMITS_TOUCH_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace feedmill::bench {

// Reads one item per cache line, like bench_trainer's `touch`. Returns their
// sum plus the last item.
inline uint64_t Touch(std::span<const uint8_t> items) {
  uint64_t sum = 0;
  for (size_t k = 0; k < items.size(); k += 64) sum += items[k];
  return sum + items.back();
}

}  // namespace feedmill::bench

#endif  // FEEDMILL_BENCH_LIMITS_TOUCH_H_
