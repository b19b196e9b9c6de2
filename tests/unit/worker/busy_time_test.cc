#include "worker/busy_time.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <ctime>

namespace feedmill {
namespace {

absl::Duration CpuTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

TEST(BusyTime, WaitingCounts) {
  const BusyTime busy;
  EXPECT_EQ(poll(nullptr, 0, 10), 0);
  EXPECT_GE(busy.Elapsed(), absl::Milliseconds(10));
}

TEST(BusyTime, ComputingCounts) {
  const BusyTime busy;
  const absl::Duration begun = CpuTime();
  while (CpuTime() - begun < absl::Milliseconds(10)) {
  }
  // The kernel measures thread time in steps of a few microseconds.
  EXPECT_GE(busy.Elapsed(), absl::Milliseconds(9));
}

}  // namespace
}  // namespace feedmill
