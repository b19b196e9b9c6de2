#ifndef FEEDMILL_STORES_HTTP_TRANSFER_MEMORY_H_
#define FEEDMILL_STORES_HTTP_TRANSFER_MEMORY_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace feedmill {

// Memory for fetched bytes, in blocks. A block is allocated when its first
// byte arrives. Freed blocks are kept for the next transfers, kKeptBytesMax of
// them in the process: malloc would return large blocks to the kernel, and
// each new one costs a page fault for each 4 KiB. The block that was freed last
// is used first, because it may still be in the CPU's cache.
//
// Thread-safety: bytes that were written may be read while others are written.
class TransferMemory {
 public:
  static constexpr size_t kBlockBytes = size_t{256} << 10;
  static constexpr size_t kKeptBytesMax = size_t{64} << 20;
  // Smaller blocks are left to malloc.
  static constexpr size_t kKeptSizeMin = size_t{64} << 10;

  TransferMemory() = default;
  explicit TransferMemory(size_t size);

  // Copies bytes to [offset, offset + bytes.size()). Throws std::bad_alloc.
  void Write(size_t offset, std::span<const std::byte> bytes);
  // Copies bytes from offset on. REQUIRES: they were written.
  void Read(size_t offset, std::span<std::byte> out) const;

 private:
  struct Free {
    size_t size = 0;
    void operator()(std::byte* block) const;
  };
  using Block = std::unique_ptr<std::byte, Free>;

  // Returns the block at a place; its last bytes may be beyond the memory.
  std::byte* BlockAt(size_t place);

  size_t size_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_TRANSFER_MEMORY_H_
