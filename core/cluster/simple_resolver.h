#ifndef FEEDMILL_CORE_CLUSTER_SIMPLE_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_SIMPLE_RESOLVER_H_

#include <string>
#include <utility>

#include "feedmill/resolver.h"

namespace feedmill {

// Returns the given view. Without a task in the request, Master() is the view's
// master ("" by default); the process's own task is ignored.
//
// Source: tf.distribute.cluster_resolver.SimpleClusterResolver.
class SimpleResolver : public ClusterResolver {
 public:
  explicit SimpleResolver(ClusterView view, AcceleratorCounts accelerators = {})
      : view_(std::move(view)), accelerators_(std::move(accelerators)) {}

  absl::StatusOr<ClusterView> Resolve() const override { return view_; }
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;

 private:
  const ClusterView view_;
  const AcceleratorCounts accelerators_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_SIMPLE_RESOLVER_H_
