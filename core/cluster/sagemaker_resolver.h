#ifndef FEEDMILL_CORE_CLUSTER_SAGEMAKER_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_SAGEMAKER_RESOLVER_H_

#include <cstdint>
#include <string>

#include "core/cluster/local_resolver.h"

namespace feedmill {

struct SageMakerOptions {
  JobLayout jobs = {{"worker", std::nullopt}};
  int64_t port = 2223;  // the same on every host
  ResolverOverrides overrides;
};

// The hosts of an Amazon SageMaker training job: SM_HOSTS, a JSON list, sorted
// by the numbers in the names, so that all hosts agree. SM_CURRENT_HOST is this
// host. Master() of a cluster of one host is "". InvalidArgument names a
// variable that is absent, malformed or contradicted by the other.
//
// Source: tf.distribute.cluster_resolver.SageMakerClusterResolver.
class SageMakerResolver
    : public LocalResolver<ResolverContext, SageMakerOptions> {
 public:
  using LocalResolver::LocalResolver;
  absl::StatusOr<ClusterView> Resolve() const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_SAGEMAKER_RESOLVER_H_
