#ifndef FEEDMILL_CORE_CLUSTER_UNION_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_UNION_RESOLVER_H_

#include <memory>
#include <string>
#include <vector>

#include "feedmill/resolver.h"

namespace feedmill {

// Combines several resolvers. A job that is a list in each of them becomes the
// concatenation, in order. A job that is sparse in any becomes the union of the
// indices; InvalidArgument if two resolvers have the same index. The task, RPC
// layer, environment, accelerators and default master are the first resolver's,
// unless overridden.
//
// Source: tf.distribute.cluster_resolver.UnionResolver.
class UnionResolver : public ClusterResolver {
 public:
  using Parts = std::vector<std::shared_ptr<const ClusterResolver>>;

  // InvalidArgument if `parts` is empty or one of them is null.
  static absl::StatusOr<std::unique_ptr<UnionResolver>> Create(
      Parts parts, ResolverOverrides overrides = {});

  absl::StatusOr<ClusterView> Resolve() const override;
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;

 private:
  UnionResolver(Parts parts, ResolverOverrides overrides);

  const Parts parts_;
  const ResolverOverrides overrides_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_UNION_RESOLVER_H_
