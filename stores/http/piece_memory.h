#ifndef FEEDMILL_STORES_HTTP_PIECE_MEMORY_H_
#define FEEDMILL_STORES_HTTP_PIECE_MEMORY_H_

#include <cstddef>
#include <utility>

namespace feedmill {

// Uninitialised memory for fetched bytes. Freed memory of pieces is kept for
// the next ones, kKeptBytesMax of it in the process: malloc would return large
// blocks to the kernel, and each new one costs a page fault for each 4 KiB.
class PieceMemory {
 public:
  static constexpr size_t kKeptBytesMax = size_t{64} << 20;
  // Other sizes are left to malloc.
  static constexpr size_t kKeptSizeMin = size_t{64} << 10;
  static constexpr size_t kKeptSizeMax = size_t{8} << 20;

  PieceMemory() = default;
  explicit PieceMemory(size_t size);
  PieceMemory(PieceMemory&& other) noexcept { *this = std::move(other); }
  PieceMemory& operator=(PieceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PieceMemory();

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_PIECE_MEMORY_H_
