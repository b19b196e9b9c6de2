#include "core/cluster/master.h"

namespace feedmill {

std::string MasterUrl(const std::string& address, const std::string& layer) {
  if (address.empty() || layer.empty()) return address;
  return layer + "://" + address;
}

bool HasOneTaskAtMost(const ClusterSpec& spec) {
  const ClusterDef def = spec.AsClusterDef();
  return def.jobs.empty() ||
         (def.jobs.size() == 1 && def.jobs.front().tasks.size() <= 1);
}

}  // namespace feedmill
