#include "core/io/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <new>
#include <thread>
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

TEST(SideBySide, AnExceptionReachesTheCaller) {
  for (const size_t thrower : {size_t{0}, size_t{5}}) {
    std::atomic<int> running = 0;
    std::latch all(8);  // each of the eight runs on a thread of its own
    const auto work = [&](size_t k) -> absl::Status {
      ++running;
      all.arrive_and_wait();
      if (k == thrower) throw std::bad_alloc();
      --running;
      return absl::OkStatus();
    };
    EXPECT_THROW(static_cast<void>(ForEachSideBySide(8, 8, work)),
                 std::bad_alloc);
    EXPECT_EQ(running, 1);  // the call that threw; all others have ended
  }
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

// Only the caller's thread calls the function of its ReadStop. It does so while
// it waits for the other threads, too.
TEST(SideBySide, AStopByAFunctionEndsCallsThatTheCallerWaitsFor) {
  std::atomic<bool> waits = false;
  const ReadStop stop([&] { return waits.load(); });
  const std::thread::id caller = std::this_thread::get_id();
  std::latch both(2);
  const absl::Status status = ForEachSideBySide(2, 2, [&](size_t) {
    both.arrive_and_wait();
    if (std::this_thread::get_id() == caller) return absl::OkStatus();
    waits = true;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!ReadStop::Asked()) {
      if (std::chrono::steady_clock::now() > end) return NotFound("no stop");
      std::this_thread::yield();
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(ErrorText(status), "");
}

}  // namespace
}  // namespace feedmill
