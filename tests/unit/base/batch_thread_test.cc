#include "core/base/batch_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <thread>

namespace feedmill {
namespace {

// Where the system refuses the policy, nothing changes.
TEST(BatchThread, IsOneThatDoesNotInterruptAndSoAreThoseThatItStarts) {
  bool became = false;
  int own = -1;
  int started = -1;
  std::thread([&] {
    became = BecomeBatchThread();
    own = sched_getscheduler(0);
    std::thread([&started] { started = sched_getscheduler(0); }).join();
  }).join();
  EXPECT_EQ(own, became ? SCHED_BATCH : SCHED_OTHER);
  EXPECT_EQ(started, own);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER) << "of the caller of the test";
}

TEST(BatchThread, StaysWhatSomebodyMadeOfIt) {
  bool became = true;
  int policy = -1;
  std::thread([&] {
    const sched_param none{};
    ASSERT_EQ(pthread_setschedparam(pthread_self(), SCHED_IDLE, &none), 0);
    became = BecomeBatchThread();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_FALSE(became);
  EXPECT_EQ(policy, SCHED_IDLE);
}

TEST(BatchThread, IsToldThatItIsOneTwice) {
  std::thread([] {
    EXPECT_EQ(BecomeBatchThread(), BecomeBatchThread());
  }).join();
}

}  // namespace
}  // namespace feedmill
