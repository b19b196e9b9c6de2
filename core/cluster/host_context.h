#ifndef FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_
#define FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_

#include <string>

#include "feedmill/resolver.h"

namespace feedmill {

// The same devices below other roots, for tests. A folder that is not there
// shows no devices.
absl::StatusOr<DeviceListing> ProbeDevices(const std::string& dev,
                                           const std::string& pci_devices);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_
