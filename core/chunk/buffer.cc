#include "core/chunk/buffer.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/check.h"

namespace feedmill {
namespace {

std::byte* Allocate(size_t capacity) {
  void* memory = std::aligned_alloc(kBufferAlignment, capacity);
  FM_CHECK(memory != nullptr);
  return static_cast<std::byte*>(memory);
}

}  // namespace

Buffer Buffer::CopyOf(std::span<const std::byte> bytes) {
  BufferBuilder builder(bytes.size());
  builder.Append(bytes.data(), bytes.size());
  return std::move(builder).Freeze();
}

Buffer Buffer::Slice(size_t offset, size_t size) const {
  FM_CHECK(offset <= size_ && size <= size_ - offset);
  return Buffer(owner_, data_ == nullptr ? nullptr : data_ + offset, size);
}

BufferBuilder& BufferBuilder::operator=(BufferBuilder&& other) noexcept {
  if (this == &other) return *this;
  std::free(data_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

BufferBuilder::~BufferBuilder() { std::free(data_); }

void BufferBuilder::Reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  const size_t rounded =
      (capacity + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  std::byte* grown = Allocate(rounded);
  if (size_ > 0) __builtin_memcpy(grown, data_, size_);
  std::free(data_);
  data_ = grown;
  capacity_ = rounded;
}

void BufferBuilder::Grow(size_t needed) {
  Reserve(std::max(needed, 2 * capacity_));
}

Buffer BufferBuilder::Freeze() && {
  if (data_ == nullptr) return Buffer();
  const size_t size = std::exchange(size_, 0);
  capacity_ = 0;
  std::shared_ptr<const void> owner(
      std::exchange(data_, nullptr),
      [](const void* memory) { std::free(const_cast<void*>(memory)); });
  const auto* data = static_cast<const std::byte*>(owner.get());
  return Buffer(std::move(owner), data, size);
}

}  // namespace feedmill
