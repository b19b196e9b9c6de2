#ifndef FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_
#define FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_

#include <string>

#include "feedmill/resolver.h"

namespace feedmill {

// Lists the devices below other roots, for tests. A missing folder has no
// devices.
absl::StatusOr<DeviceListing> ProbeDevices(const std::string& dev,
                                           const std::string& pci_devices);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_HOST_CONTEXT_H_
