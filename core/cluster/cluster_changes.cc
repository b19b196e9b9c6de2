#include "core/cluster/cluster_changes.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace feedmill {

std::vector<ClusterChange> CompareClusters(const ClusterSpec& before,
                                           const ClusterSpec& after) {
  using Addresses = std::pair<std::string, std::string>;
  std::map<std::pair<std::string, int64_t>, Addresses> tasks;
  for (const ClusterDef::Job& job : before.AsClusterDef().jobs) {
    for (const auto& [index, address] : job.tasks) {
      tasks[{job.name, index}].first = address;
    }
  }
  for (const ClusterDef::Job& job : after.AsClusterDef().jobs) {
    for (const auto& [index, address] : job.tasks) {
      tasks[{job.name, index}].second = address;
    }
  }
  std::vector<ClusterChange> changes;
  for (const auto& [task, addresses] : tasks) {
    if (addresses.first == addresses.second) continue;
    changes.push_back(
        {task.first, task.second, addresses.first, addresses.second});
  }
  return changes;
}

std::string ToString(const ClusterChange& change) {
  const std::string task = fmt::format("{}/{}", change.job, change.index);
  if (change.before.empty()) return task + " came at " + change.after;
  if (change.after.empty()) return task + " went from " + change.before;
  return fmt::format("{} moved from {} to {}", task, change.before,
                     change.after);
}

}  // namespace feedmill
