#ifndef FEEDMILL_CORE_CLUSTER_ACCELERATORS_H_
#define FEEDMILL_CORE_CLUSTER_ACCELERATORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cluster/environment.h"

namespace feedmill {

// From the kind of accelerator ("GPU", "TPU") to how many of it; none has no
// entry.
using AcceleratorCounts = std::map<std::string, int64_t>;

// What a machine shows of its devices.
struct DeviceListing {
  struct PciDevice {
    uint32_t vendor = 0;        // 0x10de: NVIDIA, 0x1002: AMD, 0x1ae0: Google
    uint32_t device_class = 0;  // 24 bits: class, subclass, interface
    std::string driver;         // the one bound to it; "" for none
    uint32_t device = 0;        // which one of the vendor's
  };
  std::vector<std::string> device_files;  // the names in /dev
  std::vector<PciDevice> pci;             // /sys/bus/pci/devices
};
using DeviceProber = std::function<absl::StatusOr<DeviceListing>()>;

// The accelerators that a process with this environment could use: NVIDIA's
// by their device files, as NVIDIA_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES
// narrow them down (set to nothing: none; at the first index that there is not,
// such as -1, a list ends), AMD's by the PCI devices of a display or
// accelerator class that the amdgpu driver runs; Google's TPU chips by their
// PCI devices.
AcceleratorCounts CountAccelerators(const Environment& environment,
                                    const DeviceListing& devices);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_ACCELERATORS_H_
