#include "core/wire/span_ring.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Seconds(50);

TraceSpan SpanOfSplit(uint64_t number) {
  return {.split = {JournalId(1), number}, .begin = kNow, .end = kNow};
}

TEST(SpanRing, NumbersSpansAcrossBatches) {
  SpanRing ring(9);
  ring.Add(SpanOfSplit(1));
  ring.Add(SpanOfSplit(2));
  const SpanBatch first = ring.Take(kNow);
  EXPECT_EQ(first.trace, 9);
  EXPECT_EQ(first.first, 0);
  EXPECT_EQ(first.sent, kNow);
  ASSERT_EQ(first.spans.size(), 2);
  EXPECT_EQ(first.spans[1], SpanOfSplit(2));
  ring.Add(SpanOfSplit(3));
  EXPECT_EQ(ring.Take(kNow).first, 2);
  EXPECT_TRUE(ring.Take(kNow).spans.empty());
}

TEST(SpanRing, AFullRingDropsTheOldestSpanAndCountsIt) {
  SpanRing ring(9);
  for (uint64_t k = 0; k < SpanRing::kSpansMax + 5; ++k) {
    ring.Add(SpanOfSplit(k));
  }
  EXPECT_TRUE(ring.half_full());
  const SpanBatch batch = ring.Take(kNow);
  EXPECT_EQ(batch.spans.size(), SpanRing::kSpansMax);
  EXPECT_EQ(batch.first, 5);
  EXPECT_EQ(batch.spans.front().split.number, 5);
  EXPECT_FALSE(ring.half_full());
}

TEST(SpanRing, KeepsTheLeastClockDifference) {
  SpanRing ring(9);
  EXPECT_EQ(ring.Take(kNow).down, absl::InfiniteDuration());
  ring.NoteClock(kNow, {kNow - absl::Seconds(5), {9}});
  ring.NoteClock(kNow, {kNow - absl::Seconds(3), {9}});
  EXPECT_EQ(ring.Take(kNow).down, absl::Seconds(3));
  // It came later than the call says.
  ring.NoteClock(kNow, {kNow, {9}, kNow + absl::Seconds(1)});
  EXPECT_EQ(ring.Take(kNow).down, absl::Seconds(1));
}

}  // namespace
}  // namespace feedmill
