#include "core/cluster/role_resolver.h"

#include <algorithm>

#include "core/base/status.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

constexpr std::string_view kRoles[] = {"dispatcher", "worker", "local"};

bool IsRole(std::string_view name) {
  return std::find(std::begin(kRoles), std::end(kRoles), name) !=
         std::end(kRoles);
}

}  // namespace

absl::StatusOr<JobRoles> ParseJobRoles(std::string_view text) {
  JobRoles roles;
  for (const std::string_view item : SplitWords(text, ',')) {
    const size_t equals = item.find('=');
    const std::string role(item.substr(0, equals));
    if (equals == item.npos || !IsRole(role)) {
      return InvalidArgument(
          "'{}' gives no job a role; write dispatcher=JOB, worker=JOB or "
          "local=JOB, with commas between them",
          item);
    }
    const std::string job(item.substr(equals + 1));
    for (const auto& [known, known_job] : roles) {
      if (known == role) {
        return InvalidArgument("the role '{}' is given twice", role);
      }
      if (known_job == job && !job.empty()) {
        return InvalidArgument("the job '{}' is given two roles: {} and {}",
                               job, known, role);
      }
    }
    roles.emplace_back(role, job);
  }
  return roles;
}

std::string RenamedJob(const JobRoles& roles, const std::string& job) {
  bool taken = false;
  for (const auto& [role, of] : roles) {
    if (of == job) return role;
    taken = taken || role == job;
  }
  return taken ? "other_" + job : job;
}

RoleResolver::RoleResolver(std::unique_ptr<ClusterResolver> inner,
                           JobRoles roles)
    : inner_(std::move(inner)), roles_(std::move(roles)) {}

absl::StatusOr<ClusterView> RoleResolver::Resolve() const {
  FM_ASSIGN_OR_RETURN(ClusterView view, inner_->Resolve());
  ClusterDef def = view.spec.AsClusterDef();
  for (ClusterDef::Job& job : def.jobs) {
    job.name = RenamedJob(roles_, job.name);
  }
  FM_ASSIGN_OR_RETURN(view.spec, ClusterSpec::FromDef(def));
  if (view.task_type.has_value()) {
    view.task_type = RenamedJob(roles_, *view.task_type);
  }
  return view;
}

absl::StatusOr<AcceleratorCounts> RoleResolver::NumAccelerators(
    const TaskRequest& task) const {
  TaskRequest inner = task;
  if (inner.task_type.has_value()) {
    FM_ASSIGN_OR_RETURN(const ClusterSpec spec, inner_->Spec());
    for (const std::string& job : spec.Jobs()) {
      if (RenamedJob(roles_, job) == *task.task_type) inner.task_type = job;
    }
  }
  return inner_->NumAccelerators(inner);
}

absl::StatusOr<std::string> RoleResolver::MasterIn(
    const ClusterView& view, const TaskRequest& request) const {
  if (view.master.has_value()) return *view.master;
  return ClusterResolver::MasterIn(view, request);
}

}  // namespace feedmill
