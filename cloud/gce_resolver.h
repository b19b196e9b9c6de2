#ifndef FEEDMILL_CLOUD_GCE_RESOLVER_H_
#define FEEDMILL_CLOUD_GCE_RESOLVER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "cloud/cloud_context.h"
#include "core/cluster/local_resolver.h"

namespace feedmill {

class GoogleCloud;

struct GceOptions {
  std::string group;    // the instance group
  std::string project;  // "": this machine's
  std::string zone;     // of the group; "": this machine's zone,
  std::string region;   // or this region if the group is regional
  JobLayout jobs = {{"worker", std::nullopt}};
  int64_t port = 8470;  // the same on every instance
  std::string endpoint = "https://compute.googleapis.com";
  absl::Duration timeout = absl::Seconds(10);  // of a whole Resolve()
  ResolverOverrides overrides;
};

// The running instances of a group on Google Compute Engine: their internal
// addresses, sorted by the numbers in their names and divided into jobs. If
// this machine is an instance of the group, it is this process's task.
//
// Errors as in google_cloud.h.
//
// Source: tf.distribute.cluster_resolver.GCEClusterResolver.
class GceResolver : public LocalResolver<CloudContext, GceOptions> {
 public:
  using LocalResolver::LocalResolver;
  absl::StatusOr<ClusterView> Resolve() const override;

 private:
  using NamesByZone = std::map<std::string, std::set<std::string>>;

  absl::StatusOr<NamesByZone> ListGroup(GoogleCloud& cloud,
                                        const std::string& project) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_GCE_RESOLVER_H_
