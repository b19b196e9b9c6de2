#ifndef FEEDMILL_TESTS_CONFORMANCE_CLUSTER_SIMPLE_RESOLVER_H_
#define FEEDMILL_TESTS_CONFORMANCE_CLUSTER_SIMPLE_RESOLVER_H_

#include <string>
#include <utility>

#include "core/cluster/master.h"
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
      const TaskRequest& = {}) const override {
    return accelerators_;
  }

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override {
    if (request.task_type.has_value() && request.task_id.has_value()) {
      return ClusterResolver::MasterIn(view, request);
    }
    return MasterUrl(view.master.value_or(""),
                     request.rpc_layer.value_or(view.rpc_layer));
  }

 private:
  const ClusterView view_;
  const AcceleratorCounts accelerators_;
};

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_CONFORMANCE_CLUSTER_SIMPLE_RESOLVER_H_
