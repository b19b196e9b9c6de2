#include "client/beat_clock.h"

#include "gtest/gtest.h"

namespace feedmill {
namespace {

const absl::Time kBeatStart = absl::UnixEpoch() + absl::Seconds(1);

class BeatClockTest : public ::testing::Test {
 protected:
  BeatClockTest() {
    clock_.SetInterval(absl::Milliseconds(200));
    clock_.NoteBeat(kBeatStart);
  }
  absl::Duration Wait() const { return clock_.next() - kBeatStart; }

  BeatClock clock_;
};

TEST_F(BeatClockTest, TicksOncePerInterval) {
  EXPECT_EQ(Wait(), absl::Milliseconds(200));
  clock_.NoteBeat(kBeatStart + absl::Milliseconds(200));
  EXPECT_EQ(Wait(), absl::Milliseconds(400));
}

TEST_F(BeatClockTest, TheMostUrgentChangeCounts) {
  clock_.BeatWithin(kBeatStart, absl::Milliseconds(20));
  clock_.BeatSoon(kBeatStart);
  clock_.BeatWithin(kBeatStart, absl::Milliseconds(20));
  EXPECT_EQ(Wait(), absl::Milliseconds(1));
}

TEST_F(BeatClockTest, ATakenSplitIsUrgentIfFewRemain) {
  clock_.NoteTaken(kBeatStart, 7);
  EXPECT_EQ(Wait(), absl::Milliseconds(10));
  clock_.NoteTaken(kBeatStart, 6);  // three for each unreported one
  EXPECT_EQ(Wait(), absl::Milliseconds(1));
}

TEST_F(BeatClockTest, AHeartbeatReportsAllTakenSplits) {
  clock_.NoteTaken(kBeatStart, 4);
  clock_.NoteBeat(kBeatStart);
  clock_.NoteTaken(kBeatStart, 4);
  EXPECT_EQ(Wait(), absl::Milliseconds(10));
}

}  // namespace
}  // namespace feedmill
