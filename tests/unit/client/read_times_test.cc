#include "client/read_times.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

void Spin(absl::Duration time) {
  const absl::Time end = SteadyNow() + time;
  while (SteadyNow() < end) continue;
}

// A client's step that takes longer than the verdict's window is no time in
// which the trainer asks for nothing.
TEST(ReadTimes, CountAStepThatLasts) {
  ReadTimes times;
  times.Begin();
  {
    const ReadTimes::Stage stage(times);
    Spin(absl::Milliseconds(2));
    const ReaderLoad load = times.Load();
    EXPECT_GE(load.stage, absl::Milliseconds(2));
    EXPECT_LE(load.stage, load.elapsed);
    EXPECT_EQ(load.waited, absl::ZeroDuration());
  }
  const absl::Duration stage = times.Load().stage;
  EXPECT_GE(stage, absl::Milliseconds(2));
  Spin(absl::Milliseconds(2));
  EXPECT_EQ(times.Load().stage, stage);
}

TEST(ReadTimes, CountAWaitThatLasts) {
  ReadTimes times;
  times.Begin();
  const ReadTimes::Wait wait(times);
  Spin(absl::Milliseconds(2));
  EXPECT_GE(times.Load().waited, absl::Milliseconds(2));
  EXPECT_EQ(times.Load().stage, absl::ZeroDuration());
}

}  // namespace
}  // namespace feedmill
