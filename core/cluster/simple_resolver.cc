#include "core/cluster/simple_resolver.h"

#include "core/cluster/master.h"

namespace feedmill {

absl::StatusOr<AcceleratorCounts> SimpleResolver::NumAccelerators(
    const TaskRequest&) const {
  return accelerators_;
}

absl::StatusOr<std::string> SimpleResolver::MasterIn(
    const ClusterView& view, const TaskRequest& request) const {
  if (request.task_type.has_value() && request.task_id.has_value()) {
    return ClusterResolver::MasterIn(view, request);
  }
  return MasterUrl(view.master.value_or(""),
                   request.rpc_layer.value_or(view.rpc_layer));
}

}  // namespace feedmill
