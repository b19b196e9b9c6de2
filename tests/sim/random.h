#ifndef FEEDMILL_TESTS_SIM_RANDOM_H_
#define FEEDMILL_TESTS_SIM_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "absl/time/time.h"

namespace feedmill::sim {

// The random numbers of a simulation, from one seed (splitmix64). The same on
// every machine, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [low, high].
  uint64_t Between(uint64_t low, uint64_t high) {
    return low + Next() % (high - low + 1);
  }
  bool OneIn(uint64_t n) { return Next() % n == 0; }
  bool Percent(uint64_t percent) { return Next() % 100 < percent; }
  template <class T>
  T Choice(std::initializer_list<T> values) {
    return values.begin()[Next() % values.size()];
  }
  absl::Duration UpTo(absl::Duration longest) {
    const auto ns = static_cast<uint64_t>(absl::ToInt64Nanoseconds(longest));
    return absl::Nanoseconds(static_cast<int64_t>(Between(0, ns)));
  }

 private:
  uint64_t state_;
};

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_RANDOM_H_
