#ifndef FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_
#define FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace feedmill {

// Shares of a mixture from an element on.
struct MixtureShares {
  uint64_t begin = 0;
  std::vector<uint64_t> shares;
};

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
// Later phases have shares of their own, in which elements are counted from the
// phase's begin.
//
// Immutable; any thread.
class MixtureSchedule {
 public:
  struct InputElement {
    uint32_t input = 0;
    uint64_t count = 0;  // elements of the input before this one
  };

  // REQUIRES: at most 2^16 shares in each phase, as many in all; each sum is
  // above 0 and at most 2^31. The first phase begins at 0, and begins increase.
  explicit MixtureSchedule(std::vector<MixtureShares> phases);

  // Returns the input of element n of the mixture.
  InputElement At(uint64_t n) const {
    if (parts_.size() == 1) return parts_[0].At(n);
    const Part& part = PartOf(n);
    InputElement found = part.At(n - part.begin);
    found.count += part.before[found.input];
    return found;
  }
  // Returns how many of the first n elements come from the input.
  uint64_t Count(size_t input, uint64_t n) const;
  // Returns the index of element `count` of the input; 2^64 - 1 if the index
  // does not fit.
  uint64_t IndexOf(size_t input, uint64_t count) const;

 private:
  // A phase. Its numbers count from its begin.
  struct Part {
    explicit Part(MixtureShares phase);
    InputElement At(uint64_t n) const {
      const uint64_t period = n / inputs.size();
      const uint64_t within = n % inputs.size();
      const uint16_t input = inputs[within];
      return {input, period * shares[input] + counts[within]};
    }
    uint64_t Count(size_t input, uint64_t n) const;
    uint64_t IndexOf(size_t input, uint64_t count) const;

    uint64_t begin;
    std::vector<uint64_t> shares;
    std::vector<uint16_t> inputs{};  // of one period, by index
    // Earlier elements of that input in the period.
    std::vector<uint32_t> counts{};
    std::vector<uint64_t> before{};  // elements of each input before the phase
  };

  const Part& PartOf(uint64_t n) const {
    return *std::prev(std::ranges::upper_bound(parts_, n, {}, &Part::begin));
  }

  std::vector<Part> parts_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_MIXTURE_SCHEDULE_H_
