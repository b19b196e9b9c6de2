#ifndef FEEDMILL_CORE_CLUSTER_ACCELERATORS_H_
#define FEEDMILL_CORE_CLUSTER_ACCELERATORS_H_

#include "feedmill/resolver.h"

namespace feedmill {

// Counts the accelerators that a process with this environment can use.
//   NVIDIA  device files, limited by NVIDIA_VISIBLE_DEVICES and
//           CUDA_VISIBLE_DEVICES (empty: none; a list ends at the first
//           index that does not exist, such as -1)
//   AMD     PCI devices of a display or accelerator class that the amdgpu
//           driver runs
//   TPU     Google's PCI devices
AcceleratorCounts CountAccelerators(const Environment& environment,
                                    const DeviceListing& devices);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_ACCELERATORS_H_
