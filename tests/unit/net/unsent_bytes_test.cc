#include "core/net/unsent_bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace feedmill {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kBytesMax = 64 * kMiB;

TEST(UnsentBytes, APeerThatReadsNothingHasHalfAtMost) {
  UnsentBytes unsent(kBytesMax);
  std::vector<std::shared_ptr<const void>> held;
  while (auto one = unsent.Take("greedy", kMiB)) held.push_back(one);
  EXPECT_EQ(unsent.bytes(), kBytesMax / 2);
  EXPECT_NE(unsent.Take("other", 16 * kMiB), nullptr);
  held.pop_back();
  EXPECT_NE(unsent.Take("greedy", kMiB), nullptr);
}

TEST(UnsentBytes, ManyPeersTogetherLeaveMemoryToAnother) {
  UnsentBytes unsent(kBytesMax);
  std::vector<std::shared_ptr<const void>> held;
  for (int peer = 0; peer < 100; ++peer) {
    while (auto one = unsent.Take(std::to_string(peer), kMiB)) {
      held.push_back(one);
    }
  }
  EXPECT_LE(unsent.bytes(), kBytesMax);
  EXPECT_NE(unsent.Take("other", UnsentBytes::kSmallBytes), nullptr);
  held.clear();
  EXPECT_EQ(unsent.bytes(), 0u);
}

TEST(UnsentBytes, AMessageAloneMayHaveAnySize) {
  UnsentBytes unsent(kBytesMax);
  const auto large = unsent.Take("one", 3 * kBytesMax);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(unsent.Take("other", kMiB), nullptr);
}

TEST(UnsentBytes, CountsAPeersMessagesUntilTheyAreDropped) {
  UnsentBytes unsent(kBytesMax);
  auto held = unsent.Take("gone", kMiB);
  unsent.Forget("gone");
  unsent.Forget("gone");
  EXPECT_EQ(unsent.bytes(), kMiB);
  held.reset();
  EXPECT_EQ(unsent.bytes(), 0u);
}

}  // namespace
}  // namespace feedmill
