#ifndef FEEDMILL_CORE_CHUNK_BUFFER_BUILDER_H_
#define FEEDMILL_CORE_CHUNK_BUFFER_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "feedmill/chunk.h"

namespace feedmill {

// Memory for large buffers that is better than malloc's for what becomes of
// them: a worker's lies where its readers see it.
//
// Thread-safety: any thread.
class BlockSource {
 public:
  // Smaller blocks are not asked for.
  static constexpr size_t kBytesMin = size_t{64} << 10;

  virtual ~BlockSource() = default;
  // `bytes` of 64-byte-aligned memory; null if there is none (left).
  virtual std::byte* Take(size_t bytes) = 0;
  // Gives back what lies behind the first `kept` of the `bytes` taken.
  virtual void Shrink(std::byte* block, size_t bytes, size_t kept) = 0;
  // Gives back a block of, by now, `bytes`.
  virtual void Return(std::byte* block, size_t bytes) = 0;
};

// Growable 64-byte-aligned bytes with one owner; Freeze() makes it a Buffer
// without a copy. Memory comes from and returns to malloc, whose thresholds
// the servers raise so that large blocks are kept (TuneMalloc), or,
// where the builder has one, to a BlockSource.
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
  // Makes room for `size` more bytes at the end and returns where they go;
  // they are not initialised.
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
  bool from_source_ = false;  // data_ is
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_BUFFER_BUILDER_H_
