#ifndef FEEDMILL_CORE_PIPELINE_CACHE_MEMORY_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace feedmill {

// Bounds the bytes of all caches of a process together.
//
// Thread-safety: any thread.
class CacheMemory {
 public:
  // `free_unused` frees the memory of a cache that no run uses; false if there
  // is none.
  explicit CacheMemory(
      size_t bytes_max,
      std::function<bool()> free_unused = [] { return false; })
      : bytes_max_(bytes_max), free_unused_(std::move(free_unused)) {}
  CacheMemory(const CacheMemory&) = delete;
  CacheMemory& operator=(const CacheMemory&) = delete;

  // Takes `bytes`, if need be of unused caches. Returns false if they are not
  // there. REQUIRES: the caller holds no lock of a cache.
  bool Take(size_t bytes) {
    while (!TakeFree(bytes)) {
      if (bytes > bytes_max_ || !free_unused_()) return false;
    }
    return true;
  }
  void Return(size_t bytes) { bytes_ -= bytes; }

  size_t bytes_max() const { return bytes_max_; }

  static CacheMemory& Unbounded() {
    static CacheMemory& memory = *new CacheMemory(SIZE_MAX);
    return memory;
  }

 private:
  bool TakeFree(size_t bytes) {
    size_t before = bytes_;
    do {
      if (bytes > bytes_max_ - before) return false;
    } while (!bytes_.compare_exchange_weak(before, before + bytes));
    return true;
  }

  const size_t bytes_max_;
  const std::function<bool()> free_unused_;
  std::atomic<size_t> bytes_ = 0;
};

// Bytes of a CacheMemory that a cache is about to use.
class ReservedCacheBytes {
 public:
  ReservedCacheBytes(CacheMemory& memory, size_t bytes)
      : memory_(memory), bytes_(memory.Take(bytes) ? bytes : 0) {}
  ~ReservedCacheBytes() { memory_.Return(bytes_); }
  ReservedCacheBytes(const ReservedCacheBytes&) = delete;
  ReservedCacheBytes& operator=(const ReservedCacheBytes&) = delete;

  bool ok() const { return bytes_ > 0; }
  // The cache keeps `bytes` of them. The others are returned.
  void Keep(size_t bytes) { bytes_ -= bytes; }

 private:
  CacheMemory& memory_;
  size_t bytes_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_MEMORY_H_
