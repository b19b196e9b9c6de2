#include "stores/http/piece_memory.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace feedmill {
namespace {

bool IsKept(size_t size) {
  return size >= PieceMemory::kKeptSizeMin && size <= PieceMemory::kKeptSizeMax;
}

// Blocks by size, a power of two.
class KeptMemory {
 public:
  // Never destroyed: transfers may outlive static objects.
  static KeptMemory& Of() {
    static KeptMemory& one = *new KeptMemory();
    return one;
  }

  // Returns null if there is none.
  std::byte* Take(size_t size) {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& blocks = blocks_[PlaceOf(size)];
    if (blocks.empty()) return nullptr;
    std::byte* const block = blocks.back();
    blocks.pop_back();
    bytes_ -= std::bit_ceil(size);
    return block;
  }
  // Returns false if the block must be freed.
  bool Keep(std::byte* block, size_t size) {
    const std::lock_guard lock(mutex_);
    if (bytes_ + std::bit_ceil(size) > PieceMemory::kKeptBytesMax) return false;
    bytes_ += std::bit_ceil(size);
    blocks_[PlaceOf(size)].push_back(block);
    return true;
  }

 private:
  static size_t PlaceOf(size_t size) {
    return static_cast<size_t>(std::bit_width(size - 1));
  }

  std::mutex mutex_;
  std::array<std::vector<std::byte*>, 64> blocks_;
  size_t bytes_ = 0;
};

}  // namespace

PieceMemory::PieceMemory(size_t size) : size_(size) {
  if (IsKept(size)) {
    data_ = KeptMemory::Of().Take(size);
    if (data_ != nullptr) return;
    size = std::bit_ceil(size);
  }
  data_ = static_cast<std::byte*>(std::malloc(size));
  if (data_ == nullptr && size > 0) throw std::bad_alloc();
}

PieceMemory::~PieceMemory() {
  if (data_ == nullptr) return;
  if (IsKept(size_) && KeptMemory::Of().Keep(data_, size_)) return;
  std::free(data_);
}

}  // namespace feedmill
