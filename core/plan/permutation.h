#ifndef FEEDMILL_CORE_PLAN_PERMUTATION_H_
#define FEEDMILL_CORE_PLAN_PERMUTATION_H_

#include <array>
#include <cstdint>
#include <span>

#include "core/base/philox.h"

namespace feedmill {

// Returns the key of a random choice: XXH3-128 of five little-endian uint64
// (seed, iteration, epoch, index of the step as written, ordinal of the random
// call in the step). See docs/semantics/random.md, Keys.
RandomKey MakeRandomKey(uint64_t seed, uint64_t iteration, uint64_t epoch,
                        uint64_t step, uint64_t ordinal);

// A keyed permutation of [0, n). A value of constant size; At is a pure
// function. docs/semantics/random.md has the formulas,
// schemas/golden/permutation.json the vectors.
//
// Up to kExactMax elements, it is a Fisher-Yates shuffle: every order is
// equally likely. Each thread keeps the last kKeptOrders orders that it
// computed. Computing another order takes about 1.5 ns an element.
// Above kExactMax, it is a Feistel network over the smallest number of bits
// that holds n. The network is applied again until the result is below n. It
// takes no memory.
class Permutation {
 public:
  static constexpr uint64_t kExactMax = 1024;
  static constexpr size_t kKeptOrders = 8;
  static constexpr size_t kRounds = 8;

  Permutation(RandomKey key, uint64_t n);
  uint64_t At(uint64_t index) const;  // REQUIRES: index < n
  // Computes At(begin), At(begin + 1), …; several times faster than single
  // calls. REQUIRES: begin + out.size() <= n.
  void AtRange(uint64_t begin, std::span<uint64_t> out) const;
  uint64_t size() const { return n_; }

 private:
  struct Network {
    int right_bits = 0;
    int left_bits = 0;
    std::array<uint64_t, kRounds> round_keys{};

    template <size_t kWidth>
    void Turn(uint64_t* x) const;
  };
  struct Turns;
  struct KeptOrders;

  uint64_t StartOf(uint64_t index) const;

  RandomKey key_;
  uint64_t n_;
  Network network_;  // n > kExactMax
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PERMUTATION_H_
