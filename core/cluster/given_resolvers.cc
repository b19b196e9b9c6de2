#include "core/cluster/given_resolvers.h"

#include "core/base/status.h"
#include "core/cluster/cluster_document.h"
#include "core/cluster/master.h"
#include "core/cluster/words.h"

namespace feedmill {

absl::StatusOr<ClusterView> FileResolver::Resolve() const {
  FM_ASSIGN_OR_RETURN(const std::string text, context_.read_file(path_));
  auto view = ReadClusterDocument(text);
  if (!view.ok()) return Annotate(view.status(), path_);
  ApplyOverrides(options_, &*view);
  return view;
}

absl::Status EnvResolver::ReadTask(ClusterView* view) const {
  const auto job = context_.environment.Get("FEEDMILL_JOB");
  const auto task = context_.environment.Get("FEEDMILL_TASK");
  if (!job.has_value()) {
    if (!task.has_value()) return absl::OkStatus();
    return InvalidArgument(
        "the variable FEEDMILL_TASK is set and FEEDMILL_JOB is not; set both");
  }
  const auto indices = view->spec.TaskIndices(*job);
  if (!indices.ok()) {
    return InvalidArgument("the variable FEEDMILL_JOB: {}",
                           ErrorText(indices.status()));
  }
  view->task_type = job;
  if (!task.has_value()) {
    if (indices->size() != 1) {
      return InvalidArgument(
          "job '{}' has {} tasks, so the variable FEEDMILL_TASK must say which "
          "of them this is",
          *job, indices->size());
    }
    view->task_id = indices->front();
    return absl::OkStatus();
  }
  view->task_id = ParseDecimal(*task);
  if (!view->task_id.has_value()) {
    return InvalidArgument(
        "the variable FEEDMILL_TASK is an integer from 0 on, not '{}'", *task);
  }
  const auto address = view->spec.TaskAddress(*job, *view->task_id);
  if (address.ok()) return absl::OkStatus();
  return InvalidArgument("the variable FEEDMILL_TASK: {}",
                         ErrorText(address.status()));
}

absl::StatusOr<ClusterView> EnvResolver::Resolve() const {
  ClusterView view;
  if (const auto text = context_.environment.Get("FEEDMILL_CLUSTER")) {
    auto spec = ClusterSpec::FromJson(*text);
    if (!spec.ok()) {
      return Annotate(spec.status(), "the variable FEEDMILL_CLUSTER");
    }
    view.spec = *std::move(spec);
  } else {
    view.no_jobs_because = "the variable FEEDMILL_CLUSTER is not set";
  }
  FM_RETURN_IF_ERROR(ReadTask(&view));
  view.rpc_layer = context_.environment.Get("FEEDMILL_RPC_LAYER").value_or("");
  ApplyOverrides(options_, &view);
  return view;
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
  ApplyOverrides(options_, &view);
  return view;
}

absl::StatusOr<std::string> TfConfigResolver::MasterIn(
    const ClusterView& view, const TaskRequest& request) const {
  if (view.master.has_value()) return *view.master;
  if (HasOneTaskAtMost(view.spec)) return std::string();
  return ClusterResolver::MasterIn(view, request);
}

}  // namespace feedmill
