#include "server/server_def.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/nearest_name.h"
#include "feedmill/cluster.h"

namespace feedmill {
namespace {

constexpr char kProtocol[] = "tcp";

std::string Listed(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

absl::StatusOr<std::string> ChooseJob(const ClusterSpec& spec,
                                      const std::string& asked, bool said) {
  const std::vector<std::string> jobs = spec.Jobs();
  if (said) {
    for (const std::string& job : jobs) {
      if (job == asked) return job;
    }
    return NotFound("the cluster has no job \"{}\"{}; it has: {}", asked,
                    DidYouMean(asked, {jobs.begin(), jobs.end()}),
                    Listed(jobs));
  }
  if (jobs.size() == 1) return jobs.front();
  return InvalidArgument(
      "the cluster has {} jobs ({}): say which of them this server is of "
      "(job_name, --job)",
      jobs.size(), Listed(jobs));
}

absl::StatusOr<int64_t> ChooseTask(const ClusterSpec& spec,
                                   const std::string& job,
                                   std::optional<int64_t> asked) {
  FM_ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                      spec.TaskIndices(job));
  if (asked.has_value()) {
    const auto address = spec.TaskAddress(job, *asked);
    if (!address.ok()) return address.status();
    return *asked;
  }
  if (indices.size() == 1) return indices.front();
  return InvalidArgument(
      "job \"{}\" has {} tasks: say which of them this server is (task_index, "
      "--task)",
      job, indices.size());
}

}  // namespace

TaskRole RoleOf(std::string_view job) {
  if (job == "dispatcher") return TaskRole::kDispatcher;
  if (job == "worker") return TaskRole::kWorker;
  return job == "local" ? TaskRole::kLocal : TaskRole::kPlain;
}

absl::StatusOr<ServerDef> CompleteServerDef(const ServerDef& def,
                                            const ServerTask& task) {
  FM_ASSIGN_OR_RETURN(const ClusterSpec spec,
                      ClusterSpec::FromDef(def.cluster));
  if (spec.empty()) {
    return InvalidArgument(
        "the cluster has no jobs, so this server can be no task of it");
  }
  ServerDef full;
  full.cluster = spec.AsClusterDef();
  full.protocol =
      task.protocol.value_or(def.protocol.empty() ? kProtocol : def.protocol);
  if (full.protocol != kProtocol) {
    return NotFound("there is no protocol \"{}\"; the only one is \"{}\"",
                    full.protocol, kProtocol);
  }
  FM_ASSIGN_OR_RETURN(
      full.job_name,
      ChooseJob(spec, task.job_name.value_or(def.job_name),
                task.job_name.has_value() || !def.job_name.empty()));
  // An index given for another job does not apply.
  const bool same_job = def.job_name.empty() || def.job_name == full.job_name;
  FM_ASSIGN_OR_RETURN(full.task_index,
                      ChooseTask(spec, full.job_name,
                                 task.task_index.has_value() ? task.task_index
                                 : same_job                  ? def.task_index
                                                             : std::nullopt));
  FM_ASSIGN_OR_RETURN(const std::string address,
                      spec.TaskAddress(full.job_name, *full.task_index));
  full.port = def.port != 0 ? def.port : SplitTaskAddress(address).port;
  return full;
}

TaskAddress SplitTaskAddress(std::string_view address) {
  const size_t colon = address.rfind(':');
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  TaskAddress parts{.host = std::string(host)};
  if (colon == address.npos) return parts;
  const std::string_view port = address.substr(colon + 1);
  uint16_t number = 0;
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), number);
  if (error == std::errc() && end == port.data() + port.size()) {
    parts.port = number;
  }
  return parts;
}

ClusterDef WithTask(const ClusterDef& cluster, const std::string& job,
                    int64_t index, const std::string& address) {
  ClusterDef with = cluster;
  auto found = std::ranges::find(with.jobs, job, &ClusterDef::Job::name);
  if (found == with.jobs.end()) {
    found = with.jobs.insert(with.jobs.end(), ClusterDef::Job{job, {}});
  }
  found->tasks[index] = address;
  std::ranges::sort(with.jobs, {}, &ClusterDef::Job::name);
  return with;
}

ServerDef UnlistedWorker(const ClusterDef& cluster,
                         const std::string& address) {
  ServerDef def{.job_name = "worker", .task_index = 0};
  for (const ClusterDef::Job& job : cluster.jobs) {
    if (job.name == def.job_name && !job.tasks.empty()) {
      def.task_index = job.tasks.rbegin()->first + 1;
    }
  }
  def.cluster = WithTask(cluster, def.job_name, *def.task_index, address);
  return def;
}

absl::StatusOr<DispatcherTask> FindDispatcherTask(const ClusterDef& cluster) {
  for (const std::string_view name : {"dispatcher", "local"}) {
    for (const ClusterDef::Job& job : cluster.jobs) {
      if (job.name != name || job.tasks.empty()) continue;
      if (job.tasks.size() > 1) {
        return InvalidArgument(
            "job \"{}\" has {} tasks; a cluster has one dispatcher", job.name,
            job.tasks.size());
      }
      const auto& [index, address] = *job.tasks.begin();
      return DispatcherTask{job.name, index, address};
    }
  }
  return NotFound(
      "the cluster has no job \"dispatcher\", so its workers have no "
      "dispatcher; add the job, or give the dispatcher's address");
}

}  // namespace feedmill
