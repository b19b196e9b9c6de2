#include "core/cluster/accelerators.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "core/cluster/words.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

constexpr uint32_t kAmd = 0x1002;
constexpr uint32_t kGoogle = 0x1ae0;
// TPU v2 and v3, two of v4, v5p, v5e, v6e. Google's other devices are disks and
// network interfaces.
constexpr uint32_t kTpus[] = {0x0027, 0x0056, 0x005e, 0x0062, 0x0063, 0x006f};
constexpr uint32_t kDisplay = 0x03;
constexpr uint32_t kProcessing = 0x12;

bool IsNvidiaGpuFile(std::string_view name) {
  constexpr std::string_view kPrefix = "nvidia";  // not nvidiactl, nvidia-uvm
  return name.starts_with(kPrefix) &&
         ParseDecimal(name.substr(kPrefix.size())).has_value();
}

bool IsUuid(std::string_view entry) {
  return entry.starts_with("GPU-") || entry.starts_with("MIG-");
}

// Applies the container's variable NVIDIA_VISIBLE_DEVICES. If the container has
// only its own device files, they agree with it; if it has all of the host's,
// the variable limits them.
int64_t AllowedByContainer(const std::string& value, int64_t present) {
  if (value == "all") return present;
  if (value.empty() || value == "none" || value == "void") return 0;
  std::set<std::string_view> entries;
  for (std::string_view entry : SplitWords(value, ',')) {
    if (!entry.empty()) entries.insert(entry);
  }
  return std::min(present, static_cast<int64_t>(entries.size()));
}

int64_t AllowedByCuda(const std::string& value, int64_t present) {
  std::set<std::string_view> entries;
  for (std::string_view entry : SplitWords(value, ',')) {
    const std::optional<int64_t> index = ParseDecimal(entry);
    const bool there = index.has_value() ? *index < present : IsUuid(entry);
    if (!there) break;
    entries.insert(entry);
  }
  // A MIG device is a part of a GPU, so there may be more devices than GPUs.
  const bool parts = value.find("MIG-") != std::string::npos;
  const auto count = static_cast<int64_t>(entries.size());
  return parts && present > 0 ? count : std::min(present, count);
}

}  // namespace

AcceleratorCounts CountAccelerators(const Environment& environment,
                                    const DeviceListing& devices) {
  int64_t gpus = std::count_if(devices.device_files.begin(),
                               devices.device_files.end(), IsNvidiaGpuFile);
  if (const auto value = environment.Get("NVIDIA_VISIBLE_DEVICES")) {
    gpus = AllowedByContainer(*value, gpus);
  }
  if (const auto value = environment.Get("CUDA_VISIBLE_DEVICES")) {
    gpus = AllowedByCuda(*value, gpus);
  }
  int64_t tpus = 0;
  for (const DeviceListing::PciDevice& device : devices.pci) {
    tpus += device.vendor == kGoogle &&
            std::ranges::find(kTpus, device.device) != std::end(kTpus);
    const uint32_t base_class = device.device_class >> 16;
    gpus += device.vendor == kAmd && device.driver == "amdgpu" &&
            (base_class == kDisplay || base_class == kProcessing);
  }
  AcceleratorCounts counts;
  if (gpus > 0) counts["GPU"] = gpus;
  if (tpus > 0) counts["TPU"] = tpus;
  return counts;
}

}  // namespace feedmill
