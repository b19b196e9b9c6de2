#ifndef FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_
#define FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_

#include <string>

#include "core/cluster/resolver.h"

namespace feedmill {

// This machine, as resolvers look at it: the process's variables, its files,
// /dev and /sys/bus/pci. Any thread, as long as none sets variables.
ResolverContext HostContext();

// The same devices below other roots, for tests. A folder that is not there
// shows no devices.
absl::StatusOr<DeviceListing> ProbeDevices(const std::string& dev,
                                           const std::string& pci_devices);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_
