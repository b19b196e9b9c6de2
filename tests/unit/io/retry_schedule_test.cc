#include "core/io/retry_schedule.h"

#include <gtest/gtest.h>

#include <set>

namespace feedmill {
namespace {

TEST(RetrySchedule, DoublesUpToItsBoundWithJitter) {
  const RetrySchedule schedule(1, "http://h/a", 0);
  absl::Duration longest = RetrySchedule::kFirst;
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    const absl::Duration pause = schedule.Pause(attempt);
    EXPECT_LE(pause, longest) << attempt;
    EXPECT_GE(pause, longest / 2) << attempt;
    longest = std::min(2 * longest, RetrySchedule::kMax);
  }
}

TEST(RetrySchedule, IsAFunctionOfSeedUrlAndOffset) {
  const auto pause = [](uint64_t seed, const char* url, uint64_t offset) {
    return RetrySchedule(seed, url, offset).Pause(3);
  };
  EXPECT_EQ(pause(1, "a", 2), pause(1, "a", 2));
  const std::set<absl::Duration> all = {pause(1, "a", 2), pause(2, "a", 2),
                                        pause(1, "b", 2), pause(1, "a", 3)};
  EXPECT_EQ(all.size(), 4u);
}

}  // namespace
}  // namespace feedmill
