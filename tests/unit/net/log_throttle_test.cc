#include "core/net/log_throttle.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);

absl::Time At(int64_t seconds) { return kStart + absl::Seconds(seconds); }

TEST(LogThrottle, SaysABurstAndCountsTheLinesThatItLeavesOut) {
  LogThrottle throttle;
  for (int line = 0; line < 5; ++line) {
    EXPECT_EQ(throttle.Ask(At(0), "same", 2).say, line < 2);
  }
  EXPECT_TRUE(throttle.Ask(At(0), "other", 2).say);
  const LogThrottle::Answer later = throttle.Ask(At(11), "same", 2);
  EXPECT_TRUE(later.say);
  EXPECT_EQ(later.left_out, 3u);
  EXPECT_EQ(later.within, absl::Seconds(11));
}

TEST(LogThrottle, DoublesTheIntervalWhileLinesAreLeftOut) {
  LogThrottle throttle;
  int said = 0;
  for (int64_t second = 0; second < 3'600; ++second) {
    said += throttle.Ask(At(second), "probe", 1).say ? 1 : 0;
  }
  // Written after 0, 10, 30, 70, 150, 310, 630, 1,230, … seconds.
  EXPECT_EQ(said, 11);
}

TEST(LogThrottle, BeginsAgainAfterAQuietTime) {
  LogThrottle throttle;
  for (int64_t second = 0; second < 100; ++second) {
    throttle.Ask(At(second), "probe", 1);
  }
  EXPECT_TRUE(throttle.Ask(At(2'000), "probe", 1).say);
  EXPECT_FALSE(throttle.Ask(At(2'009), "probe", 1).say);
  EXPECT_TRUE(throttle.Ask(At(2'010), "probe", 1).say);
}

TEST(LogThrottle, CountsSuppressedLinesAtTheEndOfTheInterval) {
  LogThrottle throttle;
  throttle.Ask(At(0), "joined", 1);
  throttle.Ask(At(1), "joined", 1);
  throttle.Ask(At(1), "lost", 1);
  EXPECT_TRUE(throttle.TakeSuppressed(At(9)).empty());
  const auto left_out = throttle.TakeSuppressed(At(10));
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_EQ(left_out[0].key, "joined");
  EXPECT_EQ(left_out[0].lines, 1u);
  EXPECT_TRUE(throttle.TakeSuppressed(At(100)).empty());
}

TEST(LogThrottle, RemembersABoundedNumberOfKeys) {
  LogThrottle throttle;
  for (size_t k = 0; k < 2 * LogThrottle::kKeysMax; ++k) {
    const absl::Time now = kStart + absl::Milliseconds(static_cast<int64_t>(k));
    EXPECT_TRUE(throttle.Ask(now, std::to_string(k), 1).say);
  }
  EXPECT_TRUE(throttle.Ask(At(1), "0", 1).say);  // forgotten
  const std::string last = std::to_string(2 * LogThrottle::kKeysMax - 1);
  EXPECT_FALSE(throttle.Ask(At(1), last, 1).say);
}

}  // namespace
}  // namespace feedmill
