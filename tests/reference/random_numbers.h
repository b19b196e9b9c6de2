#ifndef FEEDMILL_TESTS_REFERENCE_RANDOM_NUMBERS_H_
#define FEEDMILL_TESTS_REFERENCE_RANDOM_NUMBERS_H_

#include <array>
#include <cstdint>
#include <vector>

namespace feedmill::reference {

// A second implementation of docs/semantics/random.md.
struct Key {
  uint64_t low;
  uint64_t high;
};
Key KeyOf(uint64_t seed, uint64_t iteration, uint64_t epoch, uint64_t step,
          uint64_t ordinal = 0);

// Returns the Philox4x32-10 block of counter (p, i), and its first word.
std::array<uint32_t, 4> Words(Key key, uint64_t p, uint64_t i);
uint32_t FirstWord(Key key, uint64_t p, uint64_t i);

// Element j of a shuffled sequence of n is element [j] of the input.
std::vector<uint64_t> ShuffledIndexes(Key key, uint64_t n);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_RANDOM_NUMBERS_H_
