#include "core/pipeline/block_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace feedmill {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(BlockCache, TakesTheNewestBlockFirst) {
  BlockCache blocks;
  std::byte* const a = blocks.Take(kMiB);
  std::byte* const b = blocks.Take(kMiB);
  ASSERT_NE(a, b);
  for (std::byte* const block : {a, b}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kBufferAlignment, 0u);
    std::memset(block, 1, kMiB);
  }
  blocks.Return(a, kMiB);
  blocks.Shrink(b, kMiB, 10);
  blocks.Return(b, 10);  // keeps its full size
  EXPECT_EQ(blocks.Take(kMiB - kMiB / 4), b);
  EXPECT_EQ(blocks.Take(kMiB), a);
  blocks.Return(a, kMiB);
  blocks.Return(b, kMiB);
}

TEST(BlockCache, GivesBlocksOfAtLeastTheRequestedSize) {
  BlockCache blocks;
  for (size_t bytes = BlockSource::kBytesMin;
       bytes <= BlockCache::kCachedBytesMax; bytes += bytes / 3) {
    std::byte* const block = blocks.Take(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    std::memset(block, 2, bytes);
    blocks.Return(block, bytes);
  }
  EXPECT_EQ(blocks.Take(BlockCache::kCachedBytesMax + 1), nullptr);
}

TEST(BlockCache, KeepsBatchesOfImages) {
  BlockCache blocks(200 * kMiB);
  const size_t bytes = 64 * 224 * 224 * 3 * sizeof(float);
  std::byte* const block = blocks.Take(bytes);
  blocks.Return(block, bytes);
  // Little more than was taken, not the next power of two.
  EXPECT_LT(blocks.cached_bytes(), bytes + bytes / 8);
  EXPECT_EQ(blocks.Take(bytes - kMiB / 2), block);
  blocks.Return(block, bytes);
}

TEST(BlockCache, KeepsABoundedNumberOfBytes) {
  BlockCache blocks;
  std::vector<std::byte*> taken;
  for (size_t bytes = 0; bytes < 2 * BlockCache::kCachedBytesMax;
       bytes += kMiB) {
    taken.push_back(blocks.Take(kMiB));
  }
  for (std::byte* const block : taken) blocks.Return(block, kMiB);
  EXPECT_EQ(blocks.cached_bytes(), BlockCache::kCachedBytesMax);
}

// A chunk may outlive its reader and be destroyed on any thread.
TEST(BlockCache, LivesAsLongAsABufferOfItsBlocks) {
  auto blocks = std::make_shared<BlockCache>();
  Buffer buffer;
  {
    BufferBuilder builder(blocks);
    std::memset(builder.Extend(kMiB), 3, kMiB);
    buffer = std::move(builder).Freeze();
  }
  std::weak_ptr<BlockCache> there = blocks;
  std::byte* const other = blocks->Take(kMiB);
  EXPECT_NE(other, buffer.data());
  blocks->Return(other, kMiB);
  blocks.reset();
  EXPECT_EQ(buffer.data()[kMiB - 1], std::byte{3});
  std::thread([&] { buffer = Buffer(); }).join();
  EXPECT_TRUE(there.expired());
}

}  // namespace
}  // namespace feedmill
