#include "stores/http/read_rate.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

class ReadRateTest : public ::testing::Test {
 protected:
  // Reads at a rate of `bytes` per millisecond.
  void Read(uint64_t bytes, absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end;) {
      rate_.Add(bytes * 10, now_);
      now_ += absl::Milliseconds(10);
    }
  }

  ReadRate rate_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(ReadRateTest, IsUnknownAtFirst) {
  EXPECT_EQ(rate_.BytesIn(absl::Seconds(1)), 0u);
  Read(100, absl::Milliseconds(90));
  EXPECT_EQ(rate_.BytesIn(absl::Seconds(1)), 0u);
}

TEST_F(ReadRateTest, BelongsToTheFasterOfTwoPeriods) {
  Read(100, absl::Milliseconds(210));
  EXPECT_EQ(rate_.BytesIn(absl::Milliseconds(50)), 5'000u);
  Read(40, absl::Milliseconds(100));
  EXPECT_EQ(rate_.BytesIn(absl::Milliseconds(50)), 5'000u);
  Read(40, absl::Milliseconds(200));
  EXPECT_EQ(rate_.BytesIn(absl::Milliseconds(50)), 2'000u);
}

TEST_F(ReadRateTest, PausesCount) {
  Read(100, absl::Milliseconds(100));
  now_ += absl::Milliseconds(100);
  Read(0, absl::Milliseconds(10));
  EXPECT_EQ(rate_.BytesIn(absl::Milliseconds(50)), 2'500u);
}

}  // namespace
}  // namespace feedmill
