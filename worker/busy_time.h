#ifndef FEEDMILL_WORKER_BUSY_TIME_H_
#define FEEDMILL_WORKER_BUSY_TIME_H_

#include <sys/resource.h>

#include <algorithm>

#include "absl/time/time.h"
#include "core/net/clock.h"

namespace feedmill {

// Measures the cost of work on its thread: wall time or, if the thread never
// waited, only its CPU time. Time during which other processes had the core
// does not count. (Otherwise a busy machine would make cheap work look slow;
// the worker would prefetch it, out of the cache, where it is slow.)
//
// Thread: one.
class BusyTime {
 public:
  BusyTime() : begun_(Now()) {}

  absl::Duration Elapsed() const {
    const Use now = Now();
    const absl::Duration wall = now.time - begun_.time;
    return now.waits == begun_.waits ? std::min(wall, now.cpu - begun_.cpu)
                                     : wall;
  }
  // Only the CPU time.
  absl::Duration Cpu() const { return Now().cpu - begun_.cpu; }

 private:
  struct Use {
    absl::Time time;
    absl::Duration cpu;
    long waits = 0;
  };
  static Use Now() {
    rusage use{};
    getrusage(RUSAGE_THREAD, &use);
    return {SteadyNow(),
            absl::DurationFromTimeval(use.ru_utime) +
                absl::DurationFromTimeval(use.ru_stime),
            use.ru_nvcsw};
  }

  const Use begun_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_BUSY_TIME_H_
