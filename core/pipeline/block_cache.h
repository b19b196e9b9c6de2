#ifndef FEEDMILL_CORE_PIPELINE_BLOCK_CACHE_H_
#define FEEDMILL_CORE_PIPELINE_BLOCK_CACHE_H_

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "core/chunk/buffer_builder.h"
#include "feedmill/element.h"

namespace feedmill {

// A free list of memory blocks of pieces. The block returned last is taken
// first. So a few blocks are used in turn, which are still in a cache and need
// no new pages from the kernel. malloc would split and merge them, and place
// each piece elsewhere.
//
// Thread-safety: any thread.
class BlockCache final : public BlockSource {
 public:
  // Most bytes of unused blocks.
  static constexpr size_t kCachedBytesMax = size_t{32} << 20;
  // Larger blocks come from malloc.
  static constexpr size_t kBlockBytesMax = size_t{8} << 20;

  BlockCache() = default;
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
  static constexpr size_t kSizes = 8;  // 64 KiB, 128 KiB, …, 8 MiB
  static_assert(kBytesMin << (kSizes - 1) == kBlockBytesMax);

  std::mutex mutex_;
  std::array<std::vector<std::byte*>, kSizes> kept_;  // by size, newest last
  size_t cached_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BLOCK_CACHE_H_
