#include "feedmill/resolver.h"

#include "core/base/status.h"
#include "core/cluster/accelerators.h"
#include "core/cluster/master.h"

namespace feedmill {

absl::StatusOr<std::string> ClusterResolver::Master(
    const TaskRequest& request) const {
  FM_ASSIGN_OR_RETURN(const ClusterView view, Resolve());
  return MasterIn(view, request);
}

absl::StatusOr<std::string> ClusterResolver::MasterIn(
    const ClusterView& view, const TaskRequest& request) const {
  const auto& type = request.task_type ? request.task_type : view.task_type;
  const auto& id = request.task_id ? request.task_id : view.task_id;
  if (!type.has_value() && !id.has_value()) return std::string();
  if (!type.has_value() || !id.has_value()) {
    return InvalidArgument(
        "a task is a job and an index, and the {} is missing; give both",
        type.has_value() ? "index" : "job");
  }
  FM_ASSIGN_OR_RETURN(const std::string address,
                      view.spec.TaskAddress(*type, *id));
  return MasterUrl(address, request.rpc_layer.value_or(view.rpc_layer));
}

absl::StatusOr<ClusterSpec> ClusterResolver::Spec() const {
  FM_ASSIGN_OR_RETURN(ClusterView view, Resolve());
  return std::move(view.spec);
}

absl::StatusOr<std::optional<std::string>> ClusterResolver::TaskType() const {
  FM_ASSIGN_OR_RETURN(ClusterView view, Resolve());
  return std::move(view.task_type);
}

absl::StatusOr<std::optional<int64_t>> ClusterResolver::TaskId() const {
  FM_ASSIGN_OR_RETURN(const ClusterView view, Resolve());
  return view.task_id;
}

absl::StatusOr<std::string> ClusterResolver::RpcLayer() const {
  FM_ASSIGN_OR_RETURN(ClusterView view, Resolve());
  return std::move(view.rpc_layer);
}

absl::StatusOr<std::string> ClusterResolver::EnvironmentName() const {
  FM_ASSIGN_OR_RETURN(ClusterView view, Resolve());
  return std::move(view.environment);
}

void ApplyOverrides(const ResolverOverrides& overrides, ClusterView* view) {
  if (overrides.task_type) view->task_type = overrides.task_type;
  if (overrides.task_id) view->task_id = overrides.task_id;
  if (overrides.rpc_layer) view->rpc_layer = *overrides.rpc_layer;
  if (overrides.environment) view->environment = *overrides.environment;
}

absl::StatusOr<AcceleratorCounts> LocalAccelerators(
    const ResolverContext& context, const ClusterView& view,
    const TaskRequest& task) {
  if ((task.task_type && task.task_type != view.task_type) ||
      (task.task_id && task.task_id != view.task_id)) {
    return FailedPrecondition(
        "the accelerators of task {} of job '{}' are known on its own machine "
        "only; ask there",
        task.task_id ? std::to_string(*task.task_id) : "?",
        task.task_type.value_or("?"));
  }
  FM_ASSIGN_OR_RETURN(const DeviceListing devices, context.probe_devices());
  return CountAccelerators(context.environment, devices);
}

}  // namespace feedmill
