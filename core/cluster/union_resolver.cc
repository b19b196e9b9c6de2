#include "core/cluster/union_resolver.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

using NamedTasks = std::pair<std::string, std::vector<ClusterSpec::Tasks>>;

// Groups the parts' tasks by job, in the order in which jobs first appear.
std::vector<NamedTasks> GroupByJob(const std::vector<ClusterView>& views) {
  std::vector<NamedTasks> jobs;
  for (const ClusterView& view : views) {
    for (const auto& part : view.spec.AsDict()) {
      auto job = std::find_if(jobs.begin(), jobs.end(), [&](const auto& known) {
        return known.first == part.first;
      });
      if (job == jobs.end()) job = jobs.insert(jobs.end(), {part.first, {}});
      job->second.push_back(part.second);
    }
  }
  return jobs;
}

std::vector<std::string> Concatenate(
    const std::vector<ClusterSpec::Tasks>& parts) {
  std::vector<std::string> all;
  for (const ClusterSpec::Tasks& part : parts) {
    if (const auto* list = std::get_if<std::vector<std::string>>(&part)) {
      all.insert(all.end(), list->begin(), list->end());
    }
  }
  return all;
}

JobTasks WithIndices(const ClusterSpec::Tasks& part) {
  if (const auto* tasks = std::get_if<JobTasks>(&part)) return *tasks;
  JobTasks tasks;
  int64_t index = 0;
  for (const auto& address : std::get<std::vector<std::string>>(part)) {
    tasks.emplace(index++, address);
  }
  return tasks;
}

absl::StatusOr<ClusterSpec::Tasks> Merge(const NamedTasks& job) {
  // An empty job is a map in AsDict but is neither dense nor sparse.
  const bool sparse =
      std::any_of(job.second.begin(), job.second.end(), [](const auto& part) {
        const auto* tasks = std::get_if<JobTasks>(&part);
        return tasks != nullptr && !tasks->empty();
      });
  if (!sparse) return Concatenate(job.second);
  JobTasks merged;
  for (const ClusterSpec::Tasks& part : job.second) {
    for (const auto& [index, address] : WithIndices(part)) {
      const auto [at, inserted] = merged.emplace(index, address);
      if (!inserted) {
        return InvalidArgument(
            "two resolvers have a task {} of job '{}': '{}' and '{}'; give "
            "each task its own index",
            index, job.first, at->second, address);
      }
    }
  }
  return merged;
}

}  // namespace

UnionResolver::UnionResolver(Parts parts, ResolverOverrides overrides)
    : parts_(std::move(parts)), overrides_(std::move(overrides)) {}

absl::StatusOr<std::unique_ptr<UnionResolver>> UnionResolver::Create(
    Parts parts, ResolverOverrides overrides) {
  if (parts.empty()) {
    return InvalidArgument("a union needs at least one resolver");
  }
  if (std::count(parts.begin(), parts.end(), nullptr) > 0) {
    return InvalidArgument("a resolver of the union is null");
  }
  return std::unique_ptr<UnionResolver>(
      new UnionResolver(std::move(parts), std::move(overrides)));
}

absl::StatusOr<ClusterView> UnionResolver::Resolve() const {
  std::vector<ClusterView> views;
  for (const auto& part : parts_) {
    FM_ASSIGN_OR_RETURN(ClusterView view, part->Resolve());
    views.push_back(std::move(view));
  }
  std::vector<std::pair<std::string, ClusterSpec::Tasks>> jobs;
  for (const NamedTasks& job : GroupByJob(views)) {
    FM_ASSIGN_OR_RETURN(ClusterSpec::Tasks tasks, Merge(job));
    jobs.emplace_back(job.first, std::move(tasks));
  }
  ClusterView merged = std::move(views.front());
  FM_ASSIGN_OR_RETURN(merged.spec, ClusterSpec::FromJobs(jobs));
  ApplyOverrides(overrides_, &merged);
  return merged;
}

absl::StatusOr<AcceleratorCounts> UnionResolver::NumAccelerators(
    const TaskRequest& task) const {
  return parts_.front()->NumAccelerators(task);
}

absl::StatusOr<std::string> UnionResolver::MasterIn(
    const ClusterView& view, const TaskRequest& request) const {
  if (request.task_type.has_value() && request.task_id.has_value()) {
    return ClusterResolver::MasterIn(view, request);
  }
  TaskRequest of_first = request;
  of_first.rpc_layer = request.rpc_layer.value_or(view.rpc_layer);
  return parts_.front()->Master(of_first);
}

}  // namespace feedmill
