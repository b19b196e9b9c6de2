#include "core/pipeline/block_cache.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace feedmill {
namespace {

// A header before each block holds its size.
constexpr size_t kHeaderBytes = kBufferAlignment;
// Up to this size, blocks are powers of two.
constexpr size_t kWholePowersMax = size_t{8} << 20;

size_t SizeOf(const std::byte* block) {
  size_t size;
  std::memcpy(&size, block - kHeaderBytes, sizeof size);
  return size;
}

// Returns the size of the block for `bytes`: a power of two up to 8 MiB, above
// a multiple of one eighth of the power of two below. So pieces of different
// sizes have the same blocks, and at most an eighth of a large one is unused.
size_t BlockBytes(size_t bytes) {
  const size_t power = std::bit_ceil(std::max(bytes, BlockSource::kBytesMin));
  const size_t step = power <= kWholePowersMax ? power : power / 16;
  return (bytes + step - 1) / step * step;
}

}  // namespace

BlockCache::~BlockCache() {
  for (const auto& [size, blocks] : kept_) {
    for (std::byte* const block : blocks) std::free(block - kHeaderBytes);
  }
}

std::byte* BlockCache::Take(size_t bytes) {
  if (bytes > cached_bytes_max_) return nullptr;
  const size_t size = BlockBytes(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(size);
    if (found != kept_.end() && !found->second.empty()) {
      std::byte* const block = found->second.back();
      found->second.pop_back();
      cached_bytes_ -= size;
      return block;
    }
  }
  auto* const memory = static_cast<std::byte*>(
      std::aligned_alloc(kBufferAlignment, kHeaderBytes + size));
  if (memory == nullptr) return nullptr;
  std::memcpy(memory, &size, sizeof size);
  return memory + kHeaderBytes;
}

void BlockCache::Return(std::byte* block, size_t) {
  const size_t size = SizeOf(block);
  {
    const std::lock_guard lock(mutex_);
    if (cached_bytes_ + size <= cached_bytes_max_) {
      cached_bytes_ += size;
      kept_[size].push_back(block);
      return;
    }
  }
  std::free(block - kHeaderBytes);
}

}  // namespace feedmill
