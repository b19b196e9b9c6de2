#ifndef FEEDMILL_CORE_CLUSTER_CLUSTER_CHANGES_H_
#define FEEDMILL_CORE_CLUSTER_CLUSTER_CHANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "feedmill/cluster.h"

namespace feedmill {

// A task that was added (before is ""), removed (after is "") or moved.
struct ClusterChange {
  std::string job;
  int64_t index = 0;
  std::string before{};
  std::string after{};
  friend bool operator==(const ClusterChange&, const ClusterChange&) = default;
};

// Returns the changes from `before` to `after`, by job and index.
std::vector<ClusterChange> CompareClusters(const ClusterSpec& before,
                                           const ClusterSpec& after);

// "worker/3 came at w3:5051", "worker/0 moved from a:1 to b:1".
std::string ToString(const ClusterChange& change);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_CLUSTER_CHANGES_H_
