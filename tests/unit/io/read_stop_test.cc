#include "core/io/read_stop.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace feedmill
