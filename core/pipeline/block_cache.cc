#include "core/pipeline/block_cache.h"

#include <cstdlib>
#include <cstring>

namespace feedmill {
namespace {

// A header before each block holds its size.
constexpr size_t kHeaderBytes = kBufferAlignment;

size_t SizeOf(const std::byte* block) {
  size_t size;
  std::memcpy(&size, block - kHeaderBytes, sizeof size);
  return size;
}

}  // namespace

BlockCache::~BlockCache() {
  for (const std::vector<std::byte*>& blocks : kept_) {
    for (std::byte* const block : blocks) std::free(block - kHeaderBytes);
  }
}

std::byte* BlockCache::Take(size_t bytes) {
  if (bytes > kBlockBytesMax) return nullptr;
  size_t size = 0;
  while (kBytesMin << size < bytes) ++size;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& blocks = kept_[size];
    if (!blocks.empty()) {
      std::byte* const block = blocks.back();
      blocks.pop_back();
      cached_bytes_ -= kBytesMin << size;
      return block;
    }
  }
  auto* const memory = static_cast<std::byte*>(
      std::aligned_alloc(kBufferAlignment, kHeaderBytes + (kBytesMin << size)));
  if (memory == nullptr) return nullptr;
  std::memcpy(memory, &size, sizeof size);
  return memory + kHeaderBytes;
}

void BlockCache::Return(std::byte* block, size_t) {
  const size_t size = SizeOf(block);
  {
    const std::lock_guard lock(mutex_);
    if (cached_bytes_ + (kBytesMin << size) <= kCachedBytesMax) {
      cached_bytes_ += kBytesMin << size;
      kept_[size].push_back(block);
      return;
    }
  }
  std::free(block - kHeaderBytes);
}

}  // namespace feedmill
