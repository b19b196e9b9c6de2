#include "core/io/read_stop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace feedmill {
namespace {

TEST(ReadStop, TheInnermostOfAThreadCounts) {
  EXPECT_FALSE(ReadStop::Asked());
  std::atomic<bool> outer_stopped = false;
  const ReadStop outer(outer_stopped);
  {
    std::atomic<bool> inner_stopped = true;
    const ReadStop inner(inner_stopped);
    EXPECT_TRUE(ReadStop::Asked());
    std::thread([] { EXPECT_FALSE(ReadStop::Asked()); }).join();
  }
  EXPECT_FALSE(ReadStop::Asked());
  outer_stopped = true;
  EXPECT_TRUE(ReadStop::Asked());
}

// Calls Asked() until it is true.
void AwaitStop() {
  while (!ReadStop::Asked()) std::this_thread::yield();
}

TEST(ReadStop, AsksTheThreadOfAnInterpreterSeldomAndUntilItStops) {
  int calls = 0;
  const auto begin = std::chrono::steady_clock::now();
  const ReadStop stop([&] { return ++calls == 2; });
  EXPECT_FALSE(ReadStop::Asked());
  EXPECT_TRUE(ReadStop::Check("a").ok());
  AwaitStop();
  EXPECT_GE(std::chrono::steady_clock::now() - begin,
            std::chrono::milliseconds(100));
  EXPECT_TRUE(ReadStop::Asked());
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(*ReadStop::Current());
  EXPECT_EQ(ReadStop::Check("a").message(), "a: reading was stopped");
}

TEST(ReadStop, WithoutAFunctionTheScopeAroundItCounts) {
  std::atomic<bool> stopped = false;
  const ReadStop outer(stopped);
  const ReadStop inner(std::function<bool()>{});
  EXPECT_FALSE(ReadStop::Asked());
  stopped = true;
  EXPECT_TRUE(ReadStop::Asked());
}

TEST(ReadStop, EndsAtATimeOrWithTheScopeAroundIt) {
  std::atomic<bool> stopped = false;
  const ReadStop outer(stopped);
  const auto now = std::chrono::steady_clock::now();
  {
    const ReadStop inner(now + std::chrono::milliseconds(60));
    EXPECT_FALSE(ReadStop::Asked());
    AwaitStop();
    EXPECT_GE(std::chrono::steady_clock::now() - now,
              std::chrono::milliseconds(60));
  }
  EXPECT_FALSE(ReadStop::Asked());
  const ReadStop inner(now + std::chrono::hours(1));
  stopped = true;
  AwaitStop();
}

}  // namespace
}  // namespace feedmill
