#ifndef FEEDMILL_CORE_CLUSTER_MASTER_H_
#define FEEDMILL_CORE_CLUSTER_MASTER_H_

#include <string>

#include "feedmill/cluster.h"

namespace feedmill {

// "layer://address", or "address" without a layer; "" stays "".
std::string MasterUrl(const std::string& address, const std::string& layer);

// True if there is at most one job with at most one task, which needs no
// master.
bool HasOneTaskAtMost(const ClusterSpec& spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_MASTER_H_
