#include "core/io/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <vector>

#include "core/base/status.h"
#include "core/io/read_stop.h"

namespace feedmill {
namespace {

TEST(SideBySide, CallsEachOnceAndAtTheSameTime) {
  std::vector<std::atomic<int>> calls(100);
  std::latch all(8);
  const absl::Status status = ForEachSideBySide(100, 8, [&](size_t k) {
    ++calls[k];
    // The first eight wait for each other.
    if (k < 8) all.arrive_and_wait();
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  for (const auto& each : calls) EXPECT_EQ(each, 1);
}

TEST(SideBySide, ReturnsTheFirstErrorAndBeginsNoMore) {
  std::atomic<size_t> most = 0;
  const absl::Status status = ForEachSideBySide(10'000, 1, [&](size_t k) {
    most = k;
    return k < 5 ? absl::OkStatus() : NotFound("{}", k);
  });
  EXPECT_EQ(ErrorText(status), "5");
  EXPECT_EQ(most, 5u);
  EXPECT_TRUE(
      ForEachSideBySide(0, 8, [](size_t) { return NotFound("none"); }).ok());
}

TEST(SideBySide, AStopOfTheCallerCountsForAll) {
  const std::atomic<bool> stopped = true;
  const ReadStop stop(stopped);
  std::atomic<int> asked = 0;
  std::latch all(4);
  const absl::Status status = ForEachSideBySide(4, 4, [&](size_t) {
    all.arrive_and_wait();
    if (ReadStop::Asked()) ++asked;
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace feedmill
