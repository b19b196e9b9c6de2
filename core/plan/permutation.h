#ifndef FEEDMILL_CORE_PLAN_PERMUTATION_H_
#define FEEDMILL_CORE_PLAN_PERMUTATION_H_

#include <array>
#include <cstdint>
#include <span>

#include "core/base/philox.h"

namespace feedmill {

// The key of a random choice: XXH3-128 of five little-endian uint64 (seed,
// iteration, epoch, index of the step as written, ordinal of the random call in
// it). docs/semantics/random.md, Keys.
RandomKey MakeRandomKey(uint64_t seed, uint64_t iteration, uint64_t epoch,
                        uint64_t step, uint64_t ordinal);

// A keyed permutation of [0, n) in constant memory: a four-round Feistel
// network over the next even bit width, walked until it lands below n.
// A value; At is a pure function. docs/semantics/random.md has the formulas,
// schemas/golden/permutation.json the vectors.
class Permutation {
 public:
  Permutation(RandomKey key, uint64_t n);
  uint64_t At(uint64_t index) const;  // REQUIRES: index < n
  // At(begin), At(begin + 1), …: several times faster than one by one.
  // REQUIRES: begin + out.size() <= n.
  void AtRange(uint64_t begin, std::span<uint64_t> out) const;
  uint64_t size() const { return n_; }

 private:
  struct Network;
  struct Turns;

  uint64_t n_;
  int half_bits_;
  uint64_t mask_;
  std::array<uint64_t, 4> round_keys_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PERMUTATION_H_
