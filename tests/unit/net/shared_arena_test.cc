// The arena and buffers in it.

#include "core/net/shared_arena.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <random>

#include "core/chunk/buffer_builder.h"
#include "core/chunk/chunk_builder.h"
#include "core/net/shared_file.h"
#include "feedmill/element.h"
#include "tests/unit/net/buffers.h"

namespace feedmill {
namespace {

std::shared_ptr<SharedArena> ArenaOf(size_t bytes) {
  auto arena = SharedArena::Make(bytes);
  EXPECT_TRUE(arena.ok()) << arena.status();
  return *arena;
}

TEST(SharedArena, GivesTheLowestPlaceThatFits) {
  const auto arena = ArenaOf(kMiB);
  std::byte* const a = arena->Take(100 * kKiB);
  std::byte* const b = arena->Take(100 * kKiB);
  std::byte* const c = arena->Take(100 * kKiB);
  EXPECT_EQ(b, a + 100 * kKiB);
  arena->Return(a, 100 * kKiB);
  arena->Return(b, 100 * kKiB);
  EXPECT_EQ(arena->Take(200 * kKiB), a);  // both blocks, joined
  EXPECT_EQ(arena->used(), 300 * kKiB);
  arena->Return(a, 200 * kKiB);
  arena->Return(c, 100 * kKiB);
  EXPECT_EQ(arena->used(), 0u);
  std::byte* const all = arena->Take(kMiB);
  EXPECT_EQ(all, a);
  EXPECT_EQ(arena->Take(1), nullptr);
  arena->Return(all, kMiB);
  EXPECT_EQ(arena->Take(kMiB + 1), nullptr);
}

TEST(SharedArena, ReturnsUnusedMemoryAtOnce) {
  const auto arena = ArenaOf(kMiB);
  {
    BufferBuilder builder(arena);
    builder.Reserve(512 * kKiB);
    std::memset(builder.Extend(70 * kKiB), 7, 70 * kKiB);
    EXPECT_EQ(arena->used(), 512 * kKiB);
    const Buffer buffer = std::move(builder).Freeze();
    EXPECT_EQ(arena->used(), 72 * kKiB);
    EXPECT_EQ(arena->OffsetOf(buffer), 0u);
    EXPECT_EQ(arena->OffsetOf(buffer.Slice(64, 100)), 64u);
    EXPECT_EQ(arena->OffsetOf(Buffer::CopyOf(buffer.span())), std::nullopt);
  }
  EXPECT_EQ(arena->used(), 0u);
  {
    BufferBuilder builder(arena);
    builder.Reserve(512 * kKiB);
    const Buffer empty = std::move(builder).Freeze();
    EXPECT_EQ(empty.size(), 0u);
  }
  EXPECT_EQ(arena->used(), 0u);
}

TEST(SharedArena, AgreesWithAModelOverRandomUse) {
  const auto arena = ArenaOf(4 * kMiB);
  std::mt19937 random(7);
  struct Block {
    size_t bytes;
    uint8_t value;
  };
  std::map<std::byte*, Block> model;
  size_t full = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 || model.empty()) {
      const size_t bytes = 1 + random() % (400 * kKiB);
      std::byte* const block = arena->Take(bytes);
      if (block == nullptr) {
        ++full;
        continue;
      }
      // Blocks do not overlap: the neighbours end before it and begin after it.
      const auto next = model.lower_bound(block);
      ASSERT_TRUE(next == model.end() || block + bytes <= next->first);
      if (next != model.begin()) {
        const auto& [before, held] = *std::prev(next);
        ASSERT_LE(before + held.bytes, block);
      }
      const auto value = static_cast<uint8_t>(random());
      block[0] = block[bytes - 1] = std::byte{value};
      model[block] = {bytes, value};
    } else {
      auto it = model.begin();
      std::advance(it, static_cast<ptrdiff_t>(random() % model.size()));
      auto& [block, held] = *it;
      ASSERT_EQ(block[0], std::byte{held.value});
      if (random() % 4 == 0) {
        const size_t kept = random() % (held.bytes + 1);
        arena->Shrink(block, held.bytes, kept);
        held.bytes = kept;
        if (kept > 0) {
          block[kept - 1] = block[0];
          continue;
        }
      } else {
        ASSERT_EQ(block[held.bytes - 1], std::byte{held.value});
        arena->Return(block, held.bytes);
      }
      model.erase(it);
    }
    size_t used = 0;
    for (const auto& [block, held] : model) {
      used += (held.bytes + 4095) / 4096 * 4096;
    }
    ASSERT_EQ(arena->used(), used);
  }
  EXPECT_GT(full, 0u);
}

TEST(SharedArena, RejectsForeignWritesAndResizes) {
  const auto arena = ArenaOf(kMiB);
  EXPECT_EQ(ftruncate(arena->fd(), 0), -1);
  EXPECT_EQ(ftruncate(arena->fd(), 2 * kMiB), -1);
  EXPECT_EQ(write(arena->fd(), "x", 1), -1);
  EXPECT_EQ(
      mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd(), 0),
      MAP_FAILED);
  EXPECT_FALSE(Mapping::Of(arena->fd(), kMiB, /*writable=*/true).ok());
  EXPECT_TRUE(Mapping::Of(arena->fd(), kMiB, /*writable=*/false).ok());
  EXPECT_FALSE(Mapping::Of(arena->fd(), 2 * kMiB, /*writable=*/false).ok());
}

TEST(Mapping, MemoryThatCouldShrinkIsRefused) {
  const auto file = MakeSharedFile("test", kMiB);
  ASSERT_TRUE(file.ok());
  const OwnedFd fd(*file);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      Mapping::Of(fd.get(), kMiB, /*writable=*/false).status()));
  EXPECT_FALSE(Mapping::Of(STDIN_FILENO, kMiB, /*writable=*/false).ok());
}

TEST(Chunk, LargeColumnsLieInTheArenaAndSmallOnesDoNot) {
  const auto arena = ArenaOf(kMiB);
  ChunkBuilder builder(std::make_shared<ElementSpec>(
                           ElementSpec{{{"image", DType::kUInt8, {100 * kKiB}},
                                        {"label", DType::kInt64, {}}}}),
                       arena);
  for (int row = 0; row < 3; ++row) {
    std::memset(builder.AppendRow(0, {100 * kKiB}), row, 100 * kKiB);
    std::memset(builder.AppendRow(1, {}), 0, 8);
    builder.FinishRows(1);
  }
  const Chunk chunk = std::move(builder).Finish();
  EXPECT_TRUE(arena->OffsetOf(chunk.columns[0].values).has_value());
  EXPECT_FALSE(arena->OffsetOf(chunk.columns[1].values).has_value());
  EXPECT_EQ(arena->used(), 300 * kKiB);
}

TEST(Chunk, AFullArenaIsNoError) {
  const auto arena = ArenaOf(128 * kKiB);
  const Buffer first = Filled(arena, 100 * kKiB, 1);
  const Buffer second = Filled(arena, 100 * kKiB, 2);
  EXPECT_TRUE(arena->OffsetOf(first).has_value());
  EXPECT_FALSE(arena->OffsetOf(second).has_value());
  EXPECT_TRUE(AllAre(first, 1) && AllAre(second, 2));
}

}  // namespace
}  // namespace feedmill
