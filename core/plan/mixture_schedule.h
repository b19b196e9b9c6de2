#ifndef FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_
#define FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace feedmill {

// Computes which input each element of a mixture comes from. With w = shares[i]
// / sum(shares), the first n elements have floor(n * w) or ceil(n * w) elements
// of input i.
//
// Element j of input i may stand at index n only if floor(j / w) <= n < ceil((j
// + 1) / w). Among the inputs whose next element may stand at n, the schedule
// takes the input with the earliest deadline; ties go to the lowest index.
// (These are the windows of a proportionate fair schedule of one processor,
// which this rule always meets.) The order repeats after sum(shares) elements.
// One period is stored: 6 bytes an element.
//
// Immutable; any thread.
class MixtureSchedule {
 public:
  struct InputElement {
    uint32_t input = 0;
    uint64_t count = 0;  // elements of the input before this one
  };

  // REQUIRES: at most 2^16 shares, each above 0; their sum is at most 2^31.
  explicit MixtureSchedule(std::vector<uint64_t> shares);

  // Returns the input of element n of the mixture.
  InputElement At(uint64_t n) const {
    const uint64_t period = n / inputs_.size();
    const uint64_t within = n % inputs_.size();
    const uint16_t input = inputs_[within];
    return {input, period * shares_[input] + counts_[within]};
  }
  // Returns how many of the first n elements come from the input.
  uint64_t Count(size_t input, uint64_t n) const;
  // Returns the index of element `count` of the input; 2^64 - 1 if the index
  // does not fit.
  uint64_t IndexOf(size_t input, uint64_t count) const;

 private:
  const std::vector<uint64_t> shares_;
  std::vector<uint16_t> inputs_;  // of one period, by index
  std::vector<uint32_t>
      counts_;  // earlier elements of that input in the period
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_
