#ifndef FEEDMILL_CORE_CLUSTER_TF_CONFIG_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_TF_CONFIG_RESOLVER_H_

#include <string>
#include <utility>

#include "feedmill/resolver.h"

namespace feedmill {

// The cluster in the variable TF_CONFIG, which is JSON (cluster_document.h). If
// the variable is not set, the cluster has no jobs. InvalidArgument if its
// value is not JSON of that form; "" is not.
//
// Master(): session_master, unchanged, if given; else "" in a cluster of at
// most one task; else the address of the requested task, or of this one.
//
// Source: tf.distribute.cluster_resolver.TFConfigClusterResolver.
class TfConfigResolver : public ClusterResolver {
 public:
  explicit TfConfigResolver(ResolverContext context,
                            ResolverOverrides overrides = {})
      : context_(std::move(context)), overrides_(std::move(overrides)) {}

  absl::StatusOr<ClusterView> Resolve() const override;
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;

 private:
  const ResolverContext context_;
  const ResolverOverrides overrides_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_TF_CONFIG_RESOLVER_H_
