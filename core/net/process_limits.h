#ifndef FEEDMILL_CORE_NET_PROCESS_LIMITS_H_
#define FEEDMILL_CORE_NET_PROCESS_LIMITS_H_

#include <cstddef>

#include "absl/status/status.h"

namespace feedmill {

// Process-wide settings for servers and readers. Each is applied once,
// regardless of how often and from which thread it is requested.

// Makes malloc keep large blocks, so that their pages are not unmapped and
// faulted in again for each frame (−18 % CPU at 1 MiB).
void TuneMalloc();

// Raises the soft limit of file descriptors to the hard limit. Logs a warning
// if it is low. ResourceExhausted if it is too low to serve any client: a
// ROUTER without descriptors spins.
absl::Status RaiseFileLimit();

// Maximum connections of a server. Leaves descriptors for other files.
size_t ConnectionsMax();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_PROCESS_LIMITS_H_
