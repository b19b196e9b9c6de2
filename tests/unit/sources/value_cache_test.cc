#include "core/sources/value_cache.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

constexpr size_t kDefaultMost = size_t{1} << 30;

struct Value {
  static size_t bytes() { return 40; }
};

using Cache = ValueCache<int, Value>;

void Fill(const Cache& cache, int values) {
  for (int key = 0; key < values; ++key) {
    const auto made =
        cache.Get(key, []() -> absl::StatusOr<std::shared_ptr<const Value>> {
          return std::make_shared<const Value>();
        });
    ASSERT_TRUE(made.ok());
  }
}

TEST(ValueCacheTest, KeepsTheValuesUsedLast) {
  const Cache cache(100);
  Fill(cache, 5);
  EXPECT_EQ(cache.bytes(), 80u);
  EXPECT_EQ(cache.Find(2), nullptr);
  EXPECT_NE(cache.Find(3), nullptr);
}

TEST(ValueCacheTest, AllOfAProcessKeepNoMoreThanTheirBoundAndAValueEach) {
  KeptValueBytes::SetMost(200);
  {
    const Cache one(1'000);
    const Cache two(1'000);
    {
      const Cache three(1'000);
      Fill(three, 9);
      EXPECT_EQ(three.bytes(), 200u);
      Fill(one, 3);
      Fill(two, 3);
      EXPECT_EQ(one.bytes(), 40u);
      EXPECT_EQ(two.bytes(), 40u);
    }
    Fill(two, 9);
    EXPECT_EQ(two.bytes(), 160u);
  }
  KeptValueBytes::SetMost(kDefaultMost);
  EXPECT_FALSE(KeptValueBytes::TooMany());
}

}  // namespace
}  // namespace feedmill
