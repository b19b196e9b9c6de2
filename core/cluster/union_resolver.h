#ifndef FEEDMILL_CORE_CLUSTER_UNION_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_UNION_RESOLVER_H_

#include <memory>
#include <string>
#include <vector>

#include "feedmill/resolver.h"

namespace feedmill {

// Several resolvers as one. A job that is a list in each of them is their
// concatenation, in order; one that is sparse in any is the union of their
// indices, where an index that two have is InvalidArgument. Task, layer,
// environment, accelerators and the master of no task are the first
// resolver's, unless overridden.
//
// Source: tf.distribute.cluster_resolver.UnionResolver.
class UnionResolver : public ClusterResolver {
 public:
  using Parts = std::vector<std::shared_ptr<const ClusterResolver>>;

  // InvalidArgument if there are none, or one is null.
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
