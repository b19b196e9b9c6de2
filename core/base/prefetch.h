#ifndef FEEDMILL_CORE_BASE_PREFETCH_H_
#define FEEDMILL_CORE_BASE_PREFETCH_H_

#include <cstddef>

namespace feedmill {

// Largest useful prefetch. Longer ranges are copied at memory speed with or
// without prefetching.
inline constexpr size_t kPrefetchedBytesMax = 2048;

// Prefetches `size` bytes that are soon read, or written. Never blocks, and
// accepts any address. Use it only for accesses that the hardware prefetcher
// does not predict, and for a few KB at most.
inline void PrefetchToRead(const std::byte* at, size_t size) {
  for (size_t k = 0; k < size; k += 64) __builtin_prefetch(at + k, 0);
}
inline void PrefetchToWrite(const std::byte* at, size_t size) {
  for (size_t k = 0; k < size; k += 64) __builtin_prefetch(at + k, 1);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_PREFETCH_H_
