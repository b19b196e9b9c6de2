#ifndef FEEDMILL_CORE_CHUNK_BUFFER_BUILDER_H_
#define FEEDMILL_CORE_CHUNK_BUFFER_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "feedmill/element.h"

namespace feedmill {

// A source of memory for large buffers that replaces malloc. For example, a
// worker's source takes memory from an arena that its readers map.
//
// Thread-safety: any thread.
class BlockSource {
 public:
  // Builders do not use the source for smaller blocks.
  static constexpr size_t kBytesMin = size_t{64} << 10;

  virtual ~BlockSource() = default;
  // Returns `bytes` of 64-byte-aligned memory; null if none is free.
  virtual std::byte* Take(size_t bytes) = 0;
  // Gives back all but the first `kept` of the `bytes` that were taken.
  virtual void Shrink(std::byte* block, size_t bytes, size_t kept) = 0;
  // Gives back a block. `bytes` is its size after Shrink.
  virtual void Return(std::byte* block, size_t bytes) = 0;
};

// Growable 64-byte-aligned bytes with one owner; Freeze() makes them a Buffer
// without a copy.
// Memory comes from and returns to a BlockSource if the builder has one.
// Otherwise it comes from malloc; the servers raise its thresholds so that it
// keeps large blocks (TuneMalloc).
class BufferBuilder {
 public:
  BufferBuilder() = default;
  explicit BufferBuilder(size_t capacity) { Reserve(capacity); }
  explicit BufferBuilder(std::shared_ptr<BlockSource> source)
      : source_(std::move(source)) {}
  BufferBuilder(BufferBuilder&& other) noexcept { *this = std::move(other); }
  BufferBuilder& operator=(BufferBuilder&& other) noexcept;
  ~BufferBuilder();

  size_t size() const { return size_; }
  std::byte* data() { return data_; }
  template <class T>
  T* As() {
    return reinterpret_cast<T*>(data_);
  }

  void Reserve(size_t capacity);
  // Adds `size` uninitialised bytes at the end and returns their address.
  std::byte* Extend(size_t size) {
    if (size_ + size > capacity_) Grow(size_ + size);
    std::byte* at = data_ + size_;
    size_ += size;
    return at;
  }
  void Append(const void* bytes, size_t size) {
    if (size > 0) __builtin_memcpy(Extend(size), bytes, size);
  }
  template <class T>
  void Push(T value) {
    __builtin_memcpy(Extend(sizeof(T)), &value, sizeof(T));
  }
  // Shrinks; never grows.
  void Truncate(size_t size) { size_ = size < size_ ? size : size_; }

  Buffer Freeze() &&;

 private:
  void Grow(size_t needed);
  void Free();

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  std::shared_ptr<BlockSource> source_;
  bool from_source_ = false;  // true if data_ came from source_
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_BUFFER_BUILDER_H_
