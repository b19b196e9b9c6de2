#include "core/chunk/buffer_builder.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "core/base/byte_budget.h"
#include "core/base/check.h"
#include "core/chunk/large_blocks.h"
#include "feedmill/element.h"

namespace feedmill {
namespace {

// Largest block: pointer differences cannot span more.
constexpr size_t kBytesMax = PTRDIFF_MAX - kBufferAlignment;

std::byte* Allocate(size_t capacity) {
  void* memory = std::aligned_alloc(kBufferAlignment, capacity);
  if (memory == nullptr) {
    ByteBudget::Return(capacity);
    throw MemoryRefused(capacity);
  }
  return static_cast<std::byte*>(memory);
}

// Returns a block's bytes to the budget of the thread that frees it.
void FreeBlock(std::byte* block, size_t capacity) noexcept {
  ByteBudget::Return(capacity);
  if (capacity >= kLargeBlockBytes) {
    FreeLargeBlock(block, capacity);
  } else {
    std::free(block);
  }
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
  Free();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  source_ = std::move(other.source_);
  from_source_ = std::exchange(other.from_source_, false);
  return *this;
}

BufferBuilder::~BufferBuilder() { Free(); }

void BufferBuilder::Free() {
  if (from_source_) {
    ByteBudget::Return(capacity_);
    source_->Return(data_, capacity_);
  } else {
    FreeBlock(data_, capacity_);
  }
}

void BufferBuilder::Reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  if (capacity > kBytesMax) throw MemoryRefused(capacity, ByteBudget::Limit());
  const size_t rounded =
      (capacity + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  // The budget bounds the requested bytes, not the bytes that alignment adds.
  ByteBudget::Check(capacity, 1);
  ByteBudget::Take(rounded);
  std::byte* grown = nullptr;
  if (source_ != nullptr && rounded >= BlockSource::kBytesMin) {
    grown = source_->Take(rounded);
  }
  const bool from_source = grown != nullptr;
  if (!from_source) grown = Allocate(rounded);
  if (size_ > 0) __builtin_memcpy(grown, data_, size_);
  Free();
  data_ = grown;
  capacity_ = rounded;
  from_source_ = from_source;
}

// Doubles the capacity, but grows beyond `needed` only within the budget.
void BufferBuilder::Grow(size_t needed) {
  const size_t more = static_cast<size_t>(std::min<uint64_t>(
      {2 * uint64_t{capacity_}, ByteBudget::Limit(), uint64_t{kBytesMax}}));
  Reserve(std::max(needed, more));
}

Buffer BufferBuilder::Freeze() && {
  if (data_ == nullptr) return Buffer();
  const size_t size = std::exchange(size_, 0);
  const size_t capacity = std::exchange(capacity_, 0);
  std::byte* const data = std::exchange(data_, nullptr);
  std::shared_ptr<const void> owner;
  if (std::exchange(from_source_, false)) {
    if (size < capacity) source_->Shrink(data, capacity, size);
    owner = {data, [source = source_, size, capacity](std::byte* block) {
               ByteBudget::Return(capacity);
               source->Return(block, size);
             }};
  } else {
    owner = {data,
             [capacity](std::byte* block) { FreeBlock(block, capacity); }};
  }
  return Buffer(std::move(owner), data, size);
}

}  // namespace feedmill
