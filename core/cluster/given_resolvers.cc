#include "core/cluster/given_resolvers.h"

#include "core/base/status.h"
#include "core/cluster/cluster_document.h"
#include "core/cluster/master.h"

namespace feedmill {

absl::StatusOr<ClusterView> FileResolver::Resolve() const {
  FM_ASSIGN_OR_RETURN(const std::string text, context_.read_file(path_));
  auto view = ReadClusterDocument(text);
  if (!view.ok()) return Annotate(view.status(), path_);
  ApplyOverrides(overrides_, &*view);
  return view;
}

absl::StatusOr<AcceleratorCounts> FileResolver::NumAccelerators(
    const TaskRequest& task) const {
  FM_ASSIGN_OR_RETURN(const ClusterView view, Resolve());
  return LocalAccelerators(context_, view, task);
}

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

absl::StatusOr<ClusterView> TfConfigResolver::Resolve() const {
  ClusterView view;
  if (const auto text = context_.environment.Get("TF_CONFIG")) {
    auto read = ReadTfConfig(*text);
    if (!read.ok()) return Annotate(read.status(), "the variable TF_CONFIG");
    view = *std::move(read);
  } else {
    view.no_jobs_because = "the variable TF_CONFIG is not set";
  }
  ApplyOverrides(overrides_, &view);
  return view;
}

absl::StatusOr<AcceleratorCounts> TfConfigResolver::NumAccelerators(
    const TaskRequest& task) const {
  FM_ASSIGN_OR_RETURN(const ClusterView view, Resolve());
  return LocalAccelerators(context_, view, task);
}

absl::StatusOr<std::string> TfConfigResolver::MasterIn(
    const ClusterView& view, const TaskRequest& request) const {
  if (view.master.has_value()) return *view.master;
  if (HasOneTaskAtMost(view.spec)) return std::string();
  return ClusterResolver::MasterIn(view, request);
}

}  // namespace feedmill
