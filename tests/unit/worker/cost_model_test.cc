#include "worker/cost_model.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

constexpr FrameSizes kSizes{.frame_bytes = 1'000, .cache_bytes = 3'000};

TEST(CostModel, WithoutMeasurementsATaskHasOnePosition) {
  const CostModel cost;
  EXPECT_FALSE(cost.known());
  EXPECT_FALSE(cost.cheap());
  EXPECT_EQ(cost.PositionsIn(cost.FrameBytes(kSizes)), 1);
  EXPECT_EQ(cost.BytesOf(7, 1'000), 1'000);
}

TEST(CostModel, TasksGrowToAFrameAndTakeTenMilliseconds) {
  CostModel small;
  small.Add(1, 10, absl::Microseconds(1));
  EXPECT_EQ(small.PositionsIn(1'000), 4);  // four times the last task
  small.Add(4, 40, absl::Microseconds(4));
  small.Add(100, 1'000, absl::Microseconds(100));
  EXPECT_EQ(small.PositionsIn(1'000), 100);
  CostModel slow;
  slow.Add(8, 80, absl::Milliseconds(16));
  EXPECT_EQ(slow.PositionsIn(1'000), 5);
}

TEST(CostModel, FramesOfCheapDataAreLarger) {
  CostModel small;
  small.Add(100, 1'000, absl::Nanoseconds(10));
  EXPECT_TRUE(small.cheap());
  EXPECT_EQ(small.FrameBytes(kSizes), 2'000);
  CostModel large;
  large.Add(1, 800, absl::Nanoseconds(10));
  EXPECT_EQ(large.FrameBytes(kSizes), 3'000);  // fits into the cache
  EXPECT_EQ(large.FrameBytes({1'000, 3'000, /*in_place=*/true}), 4'000);
}

}  // namespace
}  // namespace feedmill
