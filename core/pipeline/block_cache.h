#ifndef FEEDMILL_CORE_PIPELINE_BLOCK_CACHE_H_
#define FEEDMILL_CORE_PIPELINE_BLOCK_CACHE_H_

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "core/chunk/buffer_builder.h"
#include "feedmill/element.h"

namespace feedmill {

// A free list of memory blocks of pieces. The block returned last is taken
// first. So a few blocks are used in turn, which are still in a cache and need
// no new pages from the kernel. malloc would split and merge them, and place
// each piece elsewhere. It would return blocks of 32 MiB or more to the kernel,
// whose new pages cost more than decoding a photo.
//
// Thread-safety: any thread.
class BlockCache final : public BlockSource {
 public:
  // For processes that keep the cache while nothing is read.
  static constexpr size_t kCachedBytesMax = size_t{32} << 20;

  // `cached_bytes_max`: most bytes of unused blocks. Larger blocks come from
  // malloc.
  explicit BlockCache(size_t cached_bytes_max = kCachedBytesMax)
      : cached_bytes_max_(cached_bytes_max) {}
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache() override;

  std::byte* Take(size_t bytes) override;
  // The freed rest stays with the block.
  void Shrink(std::byte*, size_t, size_t) override {}
  void Return(std::byte* block, size_t bytes) override;

  size_t cached_bytes() {
    const std::lock_guard lock(mutex_);
    return cached_bytes_;
  }

 private:
  const size_t cached_bytes_max_;
  std::mutex mutex_;
  std::map<size_t, std::vector<std::byte*>> kept_;  // by size, newest last
  size_t cached_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BLOCK_CACHE_H_
