#include "broker/range_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace feedmill {
namespace {

Cursor At(uint64_t p, uint64_t i = 0) { return {p, i}; }

std::vector<RangePool::Range> TakeAll(RangePool pool) {
  std::vector<RangePool::Range> ranges;
  while (!pool.empty()) {
    ranges.push_back(pool.First());
    pool.TakeFirst(ranges.back().end);
  }
  return ranges;
}

using Ranges = std::vector<RangePool::Range>;

bool operator==(const Ranges& a, const Ranges& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(RangePool, JoinsWhatTouches) {
  RangePool pool;
  EXPECT_TRUE(pool.empty());
  pool.Add(At(10), At(20));
  pool.Add(At(30), At(40));
  EXPECT_EQ(pool.positions(), 20);
  EXPECT_TRUE(TakeAll(pool) == (Ranges{{At(10), At(20)}, {At(30), At(40)}}));
  pool.Add(At(20), At(30));
  EXPECT_TRUE(TakeAll(pool) == (Ranges{{At(10), At(40)}}));
  pool.Add(At(9), At(10));
  pool.Add(At(40), At(41));
  EXPECT_TRUE(TakeAll(pool) == (Ranges{{At(9), At(41)}}));
}

TEST(RangePool, MayBeginWithinAPosition) {
  RangePool pool;
  pool.Add(At(7, 3), At(10));
  pool.Add(At(4), At(5));
  pool.Add(At(10), At(11));
  pool.Add(At(6, 2), At(7));
  EXPECT_EQ(pool.positions(), 6);
  EXPECT_TRUE(TakeAll(pool) ==
              (Ranges{{At(4), At(5)}, {At(6, 2), At(7)}, {At(7, 3), At(11)}}));
}

TEST(RangePool, GivesAPartOfTheLowest) {
  RangePool pool;
  pool.Add(At(7, 3), At(10));
  pool.TakeFirst(At(8));
  EXPECT_EQ(pool.First(), (RangePool::Range{At(8), At(10)}));
  pool.TakeFirst(At(9));
  EXPECT_EQ(pool.First(), (RangePool::Range{At(9), At(10)}));
  pool.TakeFirst(At(10));
  EXPECT_TRUE(pool.empty());
  EXPECT_EQ(pool, RangePool());
}

TEST(RangePool, KnowsTheGreatestPositions) {
  constexpr uint64_t kLast = ~uint64_t{0};
  RangePool pool;
  pool.Add(At(kLast - 10), At(kLast));
  pool.Add(At(0), At(1));
  const auto back = RangePool::Parse(pool.Serialize());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, pool);
  EXPECT_TRUE(TakeAll(*back) ==
              (Ranges{{At(0), At(1)}, {At(kLast - 10), At(kLast)}}));
}

// Compares the pool with a map of ranges that are not adjacent.
TEST(RangePool, IsWhatAMapOfRangesIs) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    const uint64_t size = 1 + random() % 100;
    std::vector<uint64_t> order(3'000);
    for (uint64_t k = 0; k < order.size(); ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), random);
    RangePool pool;
    std::vector<bool> in(order.size());
    for (size_t k = 0; k < order.size() / (1 + static_cast<size_t>(round) % 3);
         ++k) {
      if (random() % 8 == 0 && !pool.empty()) {
        const RangePool::Range first = pool.First();
        pool.TakeFirst({first.begin.p + size, 0});
        in[first.begin.p / size] = false;
      }
      pool.Add({order[k] * size, 0}, {order[k] * size + size, 0});
      in[order[k]] = true;
    }
    Ranges expected;
    for (uint64_t k = 0; k < in.size(); ++k) {
      if (!in[k]) continue;
      const Cursor begin{k * size, 0};
      if (expected.empty() || expected.back().end != begin) {
        expected.push_back({begin, begin});
      }
      expected.back().end = {k * size + size, 0};
    }
    EXPECT_TRUE(TakeAll(pool) == expected) << round;
    const auto back = RangePool::Parse(pool.Serialize());
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, pool);
  }
}

TEST(RangePool, RefusesBytesThatItDoesNotMake) {
  RangePool pool;
  pool.Add(At(5, 1), At(300));
  pool.Add(At(400), At(500));
  const std::string bytes = pool.Serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto parsed = RangePool::Parse(bytes.substr(0, size));
    EXPECT_TRUE(!parsed.ok() || parsed->positions() < pool.positions());
  }
  for (const std::string& bad :
       {std::string("\x00\x01\x00", 3),          // an empty run
        std::string("\x00\x01\x01\x00\x01", 5),  // two adjacent runs
        std::string("\x01\x05\x00", 3),          // no part of a position
        std::string("\x02\x05\x01\x00\x01", 5),  // the same position twice
        std::string("\x01\x05\x01\x05\x01", 5),  // a part of a whole position
        std::string("\xff\xff\xff\xff\x01", 5)}) {  // beyond the end
    EXPECT_TRUE(absl::IsDataLoss(RangePool::Parse(bad).status()));
  }
}

// A run of a million splits, half of them done, in random order.
TEST(RangePool, IsSmall) {
  RangePool pool;
  std::mt19937_64 random(7);
  size_t ranges = 0;
  bool before = false;
  for (uint64_t k = 0; k < 100'000; ++k) {
    const bool in = random() % 2 == 0;
    if (in) pool.Add({k * 1'000, 0}, {k * 1'000 + 1'000, 0});
    ranges += in && !before ? 1 : 0;
    before = in;
  }
  EXPECT_GT(ranges, 20'000);
  EXPECT_LT(pool.memory_bytes(), 100'000);
}

}  // namespace
}  // namespace feedmill
