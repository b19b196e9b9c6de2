#ifndef FEEDMILL_CORE_NET_PROCESS_LIMITS_H_
#define FEEDMILL_CORE_NET_PROCESS_LIMITS_H_

#include <cstddef>

#include "absl/status/status.h"

namespace feedmill {

// Settings of the whole process that servers and readers need; each is made
// once, however often and from whatever thread it is asked for.

// Makes malloc keep large blocks instead of giving their pages back and
// faulting them in again for the next frame (−18 % CPU at 1 MiB).
void TuneMalloc();

// Raises the soft limit of file descriptors to the hard one, and logs a warning
// if that is few. ResourceExhausted if it is too few to serve anybody: a ROUTER
// without descriptors spins.
absl::Status RaiseFileLimit();

// How many connections a server may have, so that files are left for the rest.
size_t ConnectionsMax();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_PROCESS_LIMITS_H_
