#include "core/io/range_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ranges = std::vector<ByteRange>;

TEST(RangePlan, JoinsNeighboursOverlapsAndSmallGaps) {
  const Ranges ranges = {{500, 10}, {0, 100}, {90, 20}, {120, 5}, {300, 1}};
  EXPECT_THAT(
      JoinRanges(ranges, 10, 1000),
      ElementsAre(ByteRange{0, 125}, ByteRange{300, 1}, ByteRange{500, 10}));
  EXPECT_THAT(JoinRanges(ranges, 0, 1000),
              ElementsAre(ByteRange{0, 110}, ByteRange{120, 5},
                          ByteRange{300, 1}, ByteRange{500, 10}));
  EXPECT_THAT(JoinRanges(ranges, 1000, 1000), ElementsAre(ByteRange{0, 510}));
}

TEST(RangePlan, CutsOffBytesBehindTheEnd) {
  EXPECT_THAT(JoinRanges(Ranges{{90, 20}, {100, 5}, {200, 1}, {3, 0}}, 0, 100),
              ElementsAre(ByteRange{90, 10}));
  EXPECT_THAT(JoinRanges(Ranges{{5, UINT64_MAX}}, 0, 100),
              ElementsAre(ByteRange{5, 95}));
  EXPECT_THAT(JoinRanges(Ranges{{0, 1}}, 0, 0), IsEmpty());
}

TEST(RangePlan, SplitsIntoEqualParts) {
  EXPECT_THAT(SplitRange({7, 10}, 4),
              ElementsAre(ByteRange{7, 4}, ByteRange{11, 3}, ByteRange{14, 3}));
  EXPECT_THAT(SplitRange({7, 4}, 4), ElementsAre(ByteRange{7, 4}));
  EXPECT_THAT(SplitRange({7, 0}, 4), IsEmpty());
}

TEST(SequentialRun, ReadsFurtherAsTheRunGrows) {
  SequentialRun inner;
  EXPECT_EQ(inner.Extend({7, 20}, 100, 2).size, 0u);
  EXPECT_EQ(inner.Extend({27, 10}, 100, 2), (ByteRange{37, 60}));
  SequentialRun run;
  EXPECT_EQ(run.Extend({0, 20}, 100, 2), (ByteRange{20, 40}));
  EXPECT_EQ(run.Extend({20, 10}, 100, 2), (ByteRange{30, 60}));
  // A thread that is a little ahead, and the one behind it.
  EXPECT_EQ(run.Extend({40, 5}, 100, 2), (ByteRange{45, 90}));
  EXPECT_EQ(run.Extend({30, 10}, 100, 2), (ByteRange{45, 90}));
  EXPECT_EQ(run.Extend({80, 40}, 100, 2), (ByteRange{120, 100}));
}

TEST(SequentialRun, ReadsNoFurtherWhereRangesAreInNoOrder) {
  SequentialRun run;
  for (const uint64_t offset : {5000u, 100u, 9000u, 3000u, 700u}) {
    EXPECT_EQ(run.Extend({offset, 20}, 100, 2).size, 0u) << offset;
  }
}

}  // namespace
}  // namespace feedmill
