#ifndef FEEDMILL_BENCH_PROCESS_USAGE_H_
#define FEEDMILL_BENCH_PROCESS_USAGE_H_

#include <sys/resource.h>

namespace feedmill::bench {

// User and system time of all threads of this process so far; with
// RUSAGE_CHILDREN, of its children that have ended.
inline double CpuSeconds(int whose = RUSAGE_SELF) {
  rusage usage{};
  getrusage(whose, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
             1e-6;
}

// Peak resident memory of this process.
inline double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024e-6;
}

}  // namespace feedmill::bench

#endif  // FEEDMILL_BENCH_PROCESS_USAGE_H_
