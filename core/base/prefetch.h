#ifndef FEEDMILL_CORE_BASE_PREFETCH_H_
#define FEEDMILL_CORE_BASE_PREFETCH_H_

#include <cstddef>

namespace feedmill {

// What is longer is copied as fast as memory is, asked for or not.
inline constexpr size_t kPrefetchedBytesMax = 2048;

// Asks the memory for what is soon read, or written, there; waits for nothing
// and fails at no address. Only for what the processor does not foresee, and
// not for more than a few KB.
inline void PrefetchToRead(const std::byte* at, size_t size) {
  for (size_t k = 0; k < size; k += 64) __builtin_prefetch(at + k, 0);
}
inline void PrefetchToWrite(const std::byte* at, size_t size) {
  for (size_t k = 0; k < size; k += 64) __builtin_prefetch(at + k, 1);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_PREFETCH_H_
