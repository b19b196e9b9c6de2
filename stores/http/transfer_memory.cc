#include "stores/http/transfer_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace feedmill {
namespace {

bool IsKept(size_t size) { return size >= TransferMemory::kKeptSizeMin; }

// Freed blocks by size, a power of two.
class KeptBlocks {
 public:
  // Never destroyed: transfers may outlive static objects.
  static KeptBlocks& Of() {
    static KeptBlocks& one = *new KeptBlocks();
    return one;
  }

  // Returns null if there is none.
  std::byte* Take(size_t size) {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& blocks = blocks_[PlaceOf(size)];
    if (blocks.empty()) return nullptr;
    std::byte* const block = blocks.back();
    blocks.pop_back();
    bytes_ -= size;
    return block;
  }
  // Returns false if the block must be freed.
  bool Keep(std::byte* block, size_t size) {
    const std::lock_guard lock(mutex_);
    if (bytes_ + size > TransferMemory::kKeptBytesMax) return false;
    bytes_ += size;
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

std::byte* Allocate(size_t size) {
  if (IsKept(size)) {
    if (std::byte* const kept = KeptBlocks::Of().Take(size)) return kept;
  }
  std::byte* const block = static_cast<std::byte*>(std::malloc(size));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

// Calls copy(place, offset in the block, offset in the range, size) for each
// block of a range.
template <class Copy>
void ForEachBlock(size_t offset, size_t size, const Copy& copy) {
  constexpr size_t kBlock = TransferMemory::kBlockBytes;
  for (size_t done = 0; done < size;) {
    const size_t at = offset + done;
    const size_t part = std::min(kBlock - at % kBlock, size - done);
    copy(at / kBlock, at % kBlock, done, part);
    done += part;
  }
}

}  // namespace

void TransferMemory::Free::operator()(std::byte* block) const {
  if (IsKept(size) && KeptBlocks::Of().Keep(block, size)) return;
  std::free(block);
}

TransferMemory::TransferMemory(size_t size)
    : size_(size), blocks_((size + kBlockBytes - 1) / kBlockBytes) {}

std::byte* TransferMemory::BlockAt(size_t place) {
  Block& block = blocks_[place];
  if (block == nullptr) {
    size_t size = std::min(kBlockBytes, size_ - place * kBlockBytes);
    if (IsKept(size)) size = std::bit_ceil(size);
    block = Block(Allocate(size), Free{size});
  }
  return block.get();
}

void TransferMemory::Write(size_t offset, std::span<const std::byte> bytes) {
  ForEachBlock(offset, bytes.size(),
               [&](size_t place, size_t at, size_t done, size_t size) {
                 std::memcpy(BlockAt(place) + at, bytes.data() + done, size);
               });
}

void TransferMemory::Read(size_t offset, std::span<std::byte> out) const {
  ForEachBlock(offset, out.size(),
               [&](size_t place, size_t at, size_t done, size_t size) {
                 std::memcpy(out.data() + done, blocks_[place].get() + at,
                             size);
               });
}

}  // namespace feedmill
