#ifndef FEEDMILL_CORE_NET_CLOCK_H_
#define FEEDMILL_CORE_NET_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace feedmill {

// The project's only clock. Everything except incarnations uses SteadyNow.
// Cores are given the time and never read it.

// CLOCK_BOOTTIME: time since an arbitrary epoch. Never set back. It advances
// while the machine sleeps, so leases expire then too.
absl::Time SteadyNow();

// Returns the Unix time in nanoseconds, raised above `above` and above every
// earlier result in this process. Used as the incarnation of a new server or
// reader.
uint64_t NextIncarnation(uint64_t above = 0);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_CLOCK_H_
