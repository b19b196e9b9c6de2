#ifndef FEEDMILL_CORE_NET_CLOCK_H_
#define FEEDMILL_CORE_NET_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace feedmill {

// The only clock of the project. Everything but the names of lives runs on
// SteadyNow; cores are given it and never read it.

// CLOCK_BOOTTIME as time since an arbitrary epoch: never set back, and goes on
// while the machine sleeps, so a lease that ended meanwhile has ended.
absl::Time SteadyNow();

// Nanoseconds of the Unix clock, raised above all that this process has had
// from here, and above `above`: the incarnation of a new server or reader.
uint64_t NextIncarnation(uint64_t above = 0);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_CLOCK_H_
