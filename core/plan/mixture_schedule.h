#ifndef FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_
#define FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace feedmill {

// Which input each element of a mixture comes from, so that after any n
// elements input i gave floor(n * w) or ceil(n * w) of them, w being
// shares[i] / sum(shares).
//
// Element j of input i may stand at index n only if floor(j / w) <= n <
// ceil((j + 1) / w); of the inputs whose next element may stand at n, the one
// that must come soonest does, the first of equals. (Such windows are those of
// a proportionate fair schedule of one processor, which this rule always
// meets.) The order repeats after sum(shares) elements, and one period of it is
// kept: 6 bytes an element.
//
// Immutable; any thread.
class MixtureSchedule {
 public:
  struct Place {
    uint32_t input = 0;
    uint64_t count = 0;  // elements of the input before this one
  };

  // REQUIRES: at most 2^16 shares, each above 0; their sum is at most 2^31.
  explicit MixtureSchedule(std::vector<uint64_t> shares);

  // Element n of the mixture.
  Place At(uint64_t n) const {
    const uint64_t period = n / inputs_.size();
    const uint64_t within = n % inputs_.size();
    const uint16_t input = inputs_[within];
    return {input, period * shares_[input] + counts_[within]};
  }
  // How many of the first n elements are the input's.
  uint64_t Count(size_t input, uint64_t n) const;
  // Where element `count` of the input stands; at most 2^64 - 1, which also
  // says that it is beyond.
  uint64_t IndexOf(size_t input, uint64_t count) const;

 private:
  const std::vector<uint64_t> shares_;
  std::vector<uint16_t> inputs_;  // of one period, by index
  std::vector<uint32_t> counts_;  // of that input before it in the period
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_
