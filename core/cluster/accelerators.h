#ifndef FEEDMILL_CORE_CLUSTER_ACCELERATORS_H_
#define FEEDMILL_CORE_CLUSTER_ACCELERATORS_H_

#include "feedmill/resolver.h"

namespace feedmill {

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
