#ifndef FEEDMILL_CORE_BASE_CACHE_FAULTS_H_
#define FEEDMILL_CORE_BASE_CACHE_FAULTS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

// Caches that could not be written, counted by each process for operators. No
// result depends on them: the elements are made again.
//
// Thread-safety: every function from any thread, without locks.

// Counts a cache. The first text, which names the cache and the reason, is
// kept.
void NoteCacheFault(std::string_view text);
uint64_t CacheFaultsNoted();
// Returns the first text; "" if none was counted.
std::string FirstCacheFault();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_CACHE_FAULTS_H_
