#include "core/net/shared_event_loop.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/net/clock.h"

namespace feedmill {
namespace {

// A loop whose iterations wait for a wake-up and record their threads.
class Loop {
 public:
  SharedEventLoop turns{[this](absl::Time until) { Turn(until); },
                        [this] { Wake(); }};

  void Wake() {
    const std::lock_guard lock(mu_);
    woken_ = true;
    changed_.notify_all();
  }
  // Waits until the last iteration, or the present one, is (not) that thread's.
  void AwaitLast(std::thread::id thread, bool same) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return (last_ == thread) == same; });
  }
  void AwaitOneUnderWay() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return in_turn_; });
  }
  std::thread::id last() {
    const std::lock_guard lock(mu_);
    return last_;
  }
  int count() {
    const std::lock_guard lock(mu_);
    return count_;
  }

 private:
  void Turn(absl::Time until) {
    std::unique_lock lock(mu_);
    EXPECT_FALSE(in_turn_) << "two at a time";
    in_turn_ = true;
    last_ = std::this_thread::get_id();
    changed_.notify_all();
    while (!woken_ && SteadyNow() < until) {
      if (until == absl::InfiniteFuture()) {
        changed_.wait(lock);
      } else {
        changed_.wait_for(lock, absl::ToChronoNanoseconds(until - SteadyNow()));
      }
    }
    woken_ = false;
    in_turn_ = false;
    ++count_;
    changed_.notify_all();
  }

  std::mutex mu_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool in_turn_ = false;
  std::thread::id last_;
  int count_ = 0;
};

TEST(SharedEventLoop, AThreadOfItsOwnTakesThem) {
  Loop loop;
  std::thread own([&] { loop.turns.Run(); });
  loop.AwaitLast(own.get_id(), true);
  while (loop.count() == 0) loop.Wake();
  loop.turns.Stop();
  own.join();
  EXPECT_FALSE(loop.turns.Take(absl::InfiniteFuture()));
}

TEST(SharedEventLoop, AWaitingThreadRunsTheLoopAndReturnsIt) {
  Loop loop;
  std::thread own([&] { loop.turns.Run(); });
  const std::thread::id here = std::this_thread::get_id();
  for (int times = 0; times < 3; ++times) {
    while (loop.last() != here) {
      ASSERT_TRUE(loop.turns.Take(SteadyNow() + absl::Milliseconds(1)));
    }
    loop.AwaitLast(here, false);
  }
  loop.turns.Stop();
  own.join();
}

TEST(SharedEventLoop, TheOwnThreadWakesAfterALongBorrow) {
  Loop loop;
  std::thread own([&] { loop.turns.Run(); });
  const std::thread::id id = own.get_id();
  std::thread takes([&] {
    while (loop.last() != std::this_thread::get_id()) {
      // Much longer than the interval of the loop's own thread.
      ASSERT_TRUE(loop.turns.Take(SteadyNow() + absl::Milliseconds(100)));
    }
  });
  takes.join();
  loop.AwaitLast(id, true);
  loop.turns.Stop();
  own.join();
}

TEST(SharedEventLoop, OneEndsWhenAnotherThreadWantsTheLoop) {
  Loop loop;
  std::thread first(
      [&] { EXPECT_TRUE(loop.turns.Take(absl::InfiniteFuture())); });
  loop.AwaitOneUnderWay();
  EXPECT_TRUE(loop.turns.Take(absl::InfiniteFuture()));
  first.join();
  EXPECT_EQ(loop.count(), 1);
}

TEST(SharedEventLoop, ManyThreadsRunTheLoopOneAtATime) {
  Loop loop;
  std::thread own([&] { loop.turns.Run(); });
  std::vector<std::thread> takers(4);
  for (std::thread& taker : takers) {
    taker = std::thread([&] {
      for (int times = 0; times < 500; ++times) {
        EXPECT_TRUE(loop.turns.Take(absl::InfinitePast()));
      }
    });
  }
  for (std::thread& taker : takers) taker.join();
  loop.turns.Stop();
  own.join();
}

TEST(SharedEventLoop, StopEndsAllOfThem) {
  Loop loop;
  std::thread own([&] { loop.turns.Run(); });
  std::vector<std::thread> takers(3);
  for (std::thread& taker : takers) {
    taker = std::thread([&] {
      while (loop.turns.Take(absl::InfiniteFuture())) {
      }
    });
  }
  loop.AwaitOneUnderWay();
  loop.turns.Stop();
  for (std::thread& taker : takers) taker.join();
  own.join();
}

}  // namespace
}  // namespace feedmill
