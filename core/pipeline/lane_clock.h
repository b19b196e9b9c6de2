#ifndef FEEDMILL_CORE_PIPELINE_LANE_CLOCK_H_
#define FEEDMILL_CORE_PIPELINE_LANE_CLOCK_H_

#include "absl/functional/function_ref.h"

namespace feedmill {

// Divides a thread's time into intervals, and each of them into time on a core
// or blocked, and time ready to run without a core. Pure: its arguments are
// readings of the thread's clocks, in seconds.
//
// A thread may lose its core between two of these readings. It often does at
// the reading of its CPU time, because the kernel then updates the thread's
// share of the core. So the CPU time is read first: the wall time and the run
// delay then both include the time without a core. Run delay that exceeds the
// interval belongs to the next interval.
class LaneClock {
 public:
  struct Interval {
    double wall_s = 0;  // on a core or blocked
    double cpu_s = 0;
    double ready_s = 0;
  };

  // Read in the order of the arguments.
  void Begin(double cpu_s, double delay_s, double wall_s);
  // Ends an interval and begins the next one. `cpu_s` is read first, then
  // `wall_s`. Calls `run_delay` (RunDelaySeconds) only if the thread was off
  // its core for 0.1 ms since the last call, because a call costs about 1 us.
  Interval End(double cpu_s, double wall_s,
               absl::FunctionRef<double()> run_delay);

 private:
  double cpu_s_ = 0;
  double wall_s_ = 0;
  double delay_s_ = 0;     // run delay up to the end of the last interval
  double off_core_s_ = 0;  // time off the core since its last reading
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_LANE_CLOCK_H_
