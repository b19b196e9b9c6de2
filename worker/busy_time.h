#ifndef FEEDMILL_WORKER_BUSY_TIME_H_
#define FEEDMILL_WORKER_BUSY_TIME_H_

#include <sys/resource.h>

#include <algorithm>

#include "absl/time/time.h"
#include "core/net/clock.h"

namespace feedmill {

// What work costs on the thread that makes one: the time that it took, but
// where it never waited only its CPU time. (That others had the core meanwhile
// says nothing about the work; a worker that took it for slow would make it far
// ahead, out of the cache, where it is slow indeed.)
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
