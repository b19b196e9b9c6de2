#include "core/pipeline/lane_clock.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

// A thread's clocks.
struct Thread {
  double cpu = 5;
  double delay = 7;
  double wall = 100;

  void Computes(double seconds) {
    cpu += seconds;
    wall += seconds;
  }
  void IsReady(double seconds) {
    delay += seconds;
    wall += seconds;
  }
  void IsBlocked(double seconds) { wall += seconds; }
};

LaneClock Begun(const Thread& thread) {
  LaneClock clock;
  clock.Begin(thread.cpu, thread.delay, thread.wall);
  return clock;
}

LaneClock::Interval End(const Thread& thread, LaneClock& clock) {
  return clock.End(thread.cpu, thread.wall, [&] { return thread.delay; });
}

void ExpectInterval(const LaneClock::Interval& interval, double wall,
                    double cpu, double ready) {
  EXPECT_NEAR(interval.wall_s, wall, 1e-9);
  EXPECT_NEAR(interval.cpu_s, cpu, 1e-9);
  EXPECT_NEAR(interval.ready_s, ready, 1e-9);
}

TEST(LaneClock, LeavesOutTimeReadyWithoutACore) {
  Thread thread;
  LaneClock clock = Begun(thread);
  thread.Computes(0.0064);
  thread.IsReady(0.012);
  thread.IsBlocked(0.001);
  ExpectInterval(End(thread, clock), 0.0074, 0.0064, 0.012);
}

// Numbers of a worker beside four busy processes. It computed for 6.4 ms in a
// step, and lost its core when the step's CPU time was read. The 12 ms without
// a core were charged to the next place, as time blocked.
TEST(LaneClock, LeavesOutACoreLostWhileTheClocksAreRead) {
  Thread thread;
  LaneClock clock = Begun(thread);
  thread.Computes(0.0064);
  const double cpu = thread.cpu;
  thread.IsReady(0.012);
  ExpectInterval(clock.End(cpu, thread.wall, [&] { return thread.delay; }),
                 0.0064, 0.0064, 0.012);
  thread.Computes(0.0002);
  ExpectInterval(End(thread, clock), 0.0002, 0.0002, 0);
}

TEST(LaneClock, LeavesOutACoreLostBeforeTheRunDelayIsRead) {
  Thread thread;
  LaneClock clock = Begun(thread);
  thread.Computes(0.0064);
  thread.IsReady(0.003);
  const double cpu = thread.cpu;
  const double wall = thread.wall;
  thread.IsReady(0.012);
  ExpectInterval(clock.End(cpu, wall, [&] { return thread.delay; }), 0.0064,
                 0.0064, 0.003);
  thread.Computes(0.0002);
  ExpectInterval(End(thread, clock), 0.0002, 0.0002, 0.012);
  thread.IsBlocked(0.005);
  ExpectInterval(End(thread, clock), 0.005, 0, 0);
}

TEST(LaneClock, ReadsTheRunDelayOnlyAfterTimeOffTheCore) {
  Thread thread;
  LaneClock clock = Begun(thread);
  const auto none = [] {
    ADD_FAILURE() << "read the run delay";
    return 0.0;
  };
  thread.Computes(1);
  clock.End(thread.cpu, thread.wall, none);
  thread.IsReady(60e-6);
  clock.End(thread.cpu, thread.wall, none);
  // Together more than 0.1 ms. The first 60 us are charged to their interval.
  thread.IsReady(60e-6);
  ExpectInterval(End(thread, clock), 0, 0, 60e-6);
  thread.IsBlocked(1e-3);
  ExpectInterval(End(thread, clock), 1e-3, 0, 0);
}

}  // namespace
}  // namespace feedmill
