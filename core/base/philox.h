#ifndef FEEDMILL_CORE_BASE_PHILOX_H_
#define FEEDMILL_CORE_BASE_PHILOX_H_

#include <array>
#include <cstdint>

namespace feedmill {

// The 128 bits that key a random choice (core/plan/permutation.h makes them).
struct RandomKey {
  uint64_t low = 0;
  uint64_t high = 0;
};

// Returns the four words of a block of Philox4x32-10 with key = key.low and
// counter = (p, i), low words first. Source: Salmon et al., SC'11; vectors in
// schemas/golden/philox.json.
std::array<uint32_t, 4> Philox(RandomKey key, uint64_t p, uint64_t i);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_PHILOX_H_
