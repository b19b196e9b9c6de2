#include "core/cluster/slurm_resolver.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/status.h"
#include "core/cluster/accelerators.h"
#include "core/cluster/hostlist.h"
#include "core/cluster/job_layout.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

constexpr int64_t kPortMax = 65'535;

struct Variable {
  std::string name;
  std::string value;
};

// Returns the first of the variables that is set.
std::optional<Variable> FirstOf(const Environment& environment,
                                std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto value = environment.Get(name)) return Variable{name, *value};
  }
  return std::nullopt;
}

absl::StatusOr<int64_t> ReadCount(const Variable& variable) {
  if (const auto count = ParseDecimal(variable.value)) return *count;
  return InvalidArgument("the variable {} is an integer from 0 on, not '{}'",
                         variable.name, variable.value);
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> SlurmResolver::ReadTasksPerHost(
    size_t hosts) const {
  if (options_.tasks_per_node.has_value()) {
    const int64_t count = *options_.tasks_per_node;
    if (count < 1 || count > static_cast<int64_t>(kHostsMax / hosts)) {
      return InvalidArgument(
          "{} tasks on each of {} hosts: 1 to {} are "
          "possible",
          count, hosts, kHostsMax / hosts);
    }
    return std::vector<int64_t>(hosts, count);
  }
  const auto per_node =
      FirstOf(context_.environment,
              {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  if (!per_node.has_value()) {
    return InvalidArgument(
        "neither of the variables SLURM_STEP_TASKS_PER_NODE and "
        "SLURM_TASKS_PER_NODE is set; start with srun, or say tasks_per_node");
  }
  auto counts = ExpandTasksPerNode(per_node->value);
  if (!counts.ok()) {
    return Annotate(counts.status(), "the variable " + per_node->name);
  }
  if (counts->size() != hosts) {
    return InvalidArgument(
        "the variable {} is for {} hosts, but the node list has {}",
        per_node->name, counts->size(), hosts);
  }
  return counts;
}

absl::StatusOr<int64_t> SlurmResolver::ReadPlaneSize() const {
  constexpr int64_t kWholeHost = std::numeric_limits<int64_t>::max();
  const auto value = context_.environment.Get("SLURM_DISTRIBUTION");
  if (!value.has_value()) return kWholeHost;
  // A colon separates the host level from lower levels, such as sockets.
  const std::string level = value->substr(0, value->find_first_of(":,"));
  if (level.empty() || level == "block" || level == "*") return kWholeHost;
  if (level == "cyclic") return 1;
  const auto plane = FirstOf(context_.environment, {"SLURM_DIST_PLANESIZE"});
  if (level.starts_with("plane") && plane.has_value()) {
    FM_ASSIGN_OR_RETURN(const int64_t size, ReadCount(*plane));
    if (size >= 1) return size;
  }
  return InvalidArgument(
      "the variable SLURM_DISTRIBUTION is '{}'; block, cyclic, and plane with "
      "a SLURM_DIST_PLANESIZE from 1 on are understood",
      *value);
}

// Places tasks on hosts. In each round a host gets up to `plane_size` tasks:
// all of its tasks in a block distribution, one in a cyclic distribution.
std::vector<SlurmResolver::Placement> SlurmResolver::Place(
    std::vector<int64_t> tasks_per_host, int64_t plane_size) {
  std::vector<Placement> tasks;
  std::vector<int64_t> given(tasks_per_host.size(), 0);
  std::vector<size_t> open(tasks_per_host.size());
  std::iota(open.begin(), open.end(), size_t{0});
  while (!open.empty()) {
    std::vector<size_t> still_open;
    for (const size_t host : open) {
      const int64_t left = tasks_per_host[host] - given[host];
      for (int64_t k = std::min(left, plane_size); k > 0; --k) {
        tasks.push_back({host, given[host]++});
      }
      if (given[host] < tasks_per_host[host]) still_open.push_back(host);
    }
    open = std::move(still_open);
  }
  return tasks;
}

absl::Status SlurmResolver::ReadRank(Step* step) const {
  const auto rank = FirstOf(context_.environment, {"SLURM_PROCID"});
  if (!rank.has_value()) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(const int64_t at, ReadCount(*rank));
  if (at >= static_cast<int64_t>(step->tasks.size())) {
    return InvalidArgument("the variable SLURM_PROCID is {}, of only {} tasks",
                           at, step->tasks.size());
  }
  const std::string& host =
      step->hosts[step->tasks[static_cast<size_t>(at)].host];
  const auto node = context_.environment.Get("SLURMD_NODENAME");
  if (node.has_value() && *node != host) {
    return InvalidArgument(
        "rank {} (SLURM_PROCID) belongs on host {} but runs on {} "
        "(SLURMD_NODENAME); set SLURM_DISTRIBUTION to how tasks were spread",
        at, host, *node);
  }
  step->rank = at;
  return absl::OkStatus();
}

absl::StatusOr<SlurmResolver::Step> SlurmResolver::ReadStep() const {
  const Environment& environment = context_.environment;
  const auto nodes =
      FirstOf(environment,
              {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (!nodes.has_value()) {
    return InvalidArgument(
        "none of the variables SLURM_STEP_NODELIST, SLURM_JOB_NODELIST and "
        "SLURM_NODELIST is set; this does not run inside a Slurm job");
  }
  Step step;
  auto hosts = ExpandHostlist(nodes->value);
  if (!hosts.ok()) {
    return Annotate(hosts.status(), "the variable " + nodes->name);
  }
  step.hosts = *std::move(hosts);
  FM_ASSIGN_OR_RETURN(step.tasks_per_host, ReadTasksPerHost(step.hosts.size()));
  FM_ASSIGN_OR_RETURN(const int64_t plane_size, ReadPlaneSize());
  step.tasks = Place(step.tasks_per_host, plane_size);
  const auto number = FirstOf(
      environment, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
  if (number.has_value()) {
    FM_ASSIGN_OR_RETURN(const int64_t tasks, ReadCount(*number));
    if (tasks != static_cast<int64_t>(step.tasks.size())) {
      return InvalidArgument(
          "the variable {} is {}, but the tasks of the hosts are {}",
          number->name, tasks, step.tasks.size());
    }
  }
  FM_RETURN_IF_ERROR(ReadRank(&step));
  return step;
}

absl::StatusOr<ClusterView> SlurmResolver::Resolve() const {
  FM_ASSIGN_OR_RETURN(const Step step, ReadStep());
  std::vector<std::string> addresses;
  for (const Placement& task : step.tasks) {
    if (options_.port_base < 1 ||
        options_.port_base > kPortMax - task.local_id) {
      return InvalidArgument(
          "task {} of host {} has no port: {} + {} is not 1 to {}; choose "
          "another port",
          task.local_id, step.hosts[task.host], options_.port_base,
          task.local_id, kPortMax);
    }
    addresses.push_back(fmt::format("{}:{}", step.hosts[task.host],
                                    options_.port_base + task.local_id));
  }
  ClusterView view;
  FM_RETURN_IF_ERROR(CutIntoJobs(options_.jobs, addresses, step.rank, &view));
  ApplyOverrides(options_.overrides, &view);
  return view;
}

absl::StatusOr<int64_t> SlurmResolver::GpusPerTask(const Step& step) const {
  const int64_t tasks =
      *std::max_element(step.tasks_per_host.begin(), step.tasks_per_host.end());
  int64_t per_node = 0;
  if (options_.gpus_per_node.has_value()) {
    per_node = *options_.gpus_per_node;
  } else if (const auto known =
                 FirstOf(context_.environment, {"SLURM_GPUS_ON_NODE"})) {
    FM_ASSIGN_OR_RETURN(per_node, ReadCount(*known));
  } else {
    FM_ASSIGN_OR_RETURN(const DeviceListing devices, context_.probe_devices());
    const auto counts = CountAccelerators(context_.environment, devices);
    per_node = counts.contains("GPU") ? counts.at("GPU") : 0;
  }
  const int64_t per_task = options_.gpus_per_task.value_or(per_node / tasks);
  if (per_node < 0 || per_task < 0 || per_task > per_node / tasks) {
    return FailedPrecondition(
        "{} GPUs for each of {} tasks are more than the {} GPUs of a host",
        per_task, tasks, per_node);
  }
  return per_task;
}

absl::StatusOr<AcceleratorCounts> SlurmResolver::NumAccelerators(
    const TaskRequest&) const {
  FM_ASSIGN_OR_RETURN(const Step step, ReadStep());
  FM_ASSIGN_OR_RETURN(const int64_t gpus, GpusPerTask(step));
  AcceleratorCounts counts;
  if (gpus > 0) counts["GPU"] = gpus;
  return counts;
}

absl::StatusOr<std::vector<int64_t>> SlurmResolver::VisibleGpus() const {
  FM_ASSIGN_OR_RETURN(const Step step, ReadStep());
  FM_ASSIGN_OR_RETURN(const int64_t gpus, GpusPerTask(step));
  if (!step.rank.has_value()) {
    return InvalidArgument("the variable SLURM_PROCID is not set");
  }
  const auto rank = static_cast<size_t>(*step.rank);
  std::vector<int64_t> visible(static_cast<size_t>(gpus));
  std::iota(visible.begin(), visible.end(), step.tasks[rank].local_id * gpus);
  return visible;
}

}  // namespace feedmill
