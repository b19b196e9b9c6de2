#ifndef FEEDMILL_TESTS_CONFORMANCE_RANDOM_STEPS_H_
#define FEEDMILL_TESTS_CONFORMANCE_RANDOM_STEPS_H_

#include <cstdint>
#include <random>

#include "core/dataset/graph.h"

namespace feedmill::testing {

// A number below n: the same on all machines, unlike the standard's
// distributions.
inline uint64_t Below(std::mt19937_64& random, uint64_t n) {
  return random() % n;
}

// A random sequence step for components named x or label; it may not fit.
Step RandomSequenceStep(std::mt19937_64& random);

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_CONFORMANCE_RANDOM_STEPS_H_
