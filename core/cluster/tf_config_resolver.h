#ifndef FEEDMILL_CORE_CLUSTER_TF_CONFIG_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_TF_CONFIG_RESOLVER_H_

#include <string>
#include <utility>

#include "feedmill/resolver.h"

namespace feedmill {

// The cluster in the variable TF_CONFIG, which is JSON (cluster_document.h).
// Not set, it is a cluster without jobs; set to anything else than JSON of that
// form, "" too, it is InvalidArgument.
//
// Master() is session_master as it stands if that is given; "" in a cluster of
// at most one task; else the address of the task asked for, or of this one.
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
