#ifndef FEEDMILL_CORE_CLUSTER_ENV_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_ENV_RESOLVER_H_

#include <utility>

#include "feedmill/resolver.h"

namespace feedmill {

// The cluster in feedmill's own variables:
//
//   FEEDMILL_CLUSTER    {"dispatcher": ["d:5050"], "worker": ["w0:5051"]}
//   FEEDMILL_JOB        this process's job
//   FEEDMILL_TASK       its index; may be absent where its job has one task
//   FEEDMILL_RPC_LAYER  tcp
//
// All may be absent; the cluster then has no jobs. InvalidArgument names a
// variable that is malformed or contradicts another: an index without a job, a
// task that the cluster does not have.
class EnvResolver : public ClusterResolver {
 public:
  explicit EnvResolver(ResolverContext context,
                       ResolverOverrides overrides = {})
      : context_(std::move(context)), overrides_(std::move(overrides)) {}

  absl::StatusOr<ClusterView> Resolve() const override;
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 private:
  absl::Status ReadTask(ClusterView* view) const;

  const ResolverContext context_;
  const ResolverOverrides overrides_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_ENV_RESOLVER_H_
