#include <algorithm>

#include "core/base/status.h"
#include "feedmill/cluster.h"

namespace feedmill {
namespace {

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsPlainWord(std::string_view text) {
  return !text.empty() && text.size() <= 253 &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "-._") == std::string_view::npos;
}

bool IsPort(std::string_view port) {
  if (port.size() > 2 && port.front() == '%' && port.back() == '%') {
    return IsPlainWord(port.substr(1, port.size() - 2));
  }
  return IsDigits(port) && port.size() <= 5 &&
         std::stoi(std::string(port)) <= 65535;
}

bool IsIpv6(std::string_view host) {
  return host.size() >= 2 && std::count(host.begin(), host.end(), ':') >= 2 &&
         host.find_first_not_of("0123456789abcdefABCDEF:.") ==
             std::string_view::npos;
}

bool IsDense(const JobTasks& tasks) {
  return !tasks.empty() && tasks.begin()->first == 0 &&
         tasks.rbegin()->first + 1 == static_cast<int64_t>(tasks.size());
}

absl::Status CheckJob(const ClusterDef::Job& job) {
  if (job.name.empty()) {
    return InvalidArgument("a job of the cluster has an empty name");
  }
  if (!IsPlainWord(job.name)) {
    return InvalidArgument(
        "a job's name is letters, digits, '.', '-' and '_', at most 253 of "
        "them; '{}' is not",
        job.name.substr(0, 253));
  }
  for (const auto& [index, address] : job.tasks) {
    if (index < 0) {
      return InvalidArgument("job '{}': task index {} is negative", job.name,
                             index);
    }
    const absl::Status status = CheckTaskAddress(address);
    if (!status.ok()) {
      return Annotate(status,
                      fmt::format("job '{}', task {}", job.name, index));
    }
  }
  return absl::OkStatus();
}

// Formats a job's tasks between brackets; `quote` formats each address.
template <class Quote>
std::string TasksText(const JobTasks& tasks, const Quote& quote,
                      bool quote_index) {
  const bool dense = IsDense(tasks) || tasks.empty();
  std::string out = dense ? "[" : "{";
  for (const auto& [index, address] : tasks) {
    if (out.size() > 1) out += ", ";
    if (!dense) {
      out += quote_index ? quote(std::to_string(index)) : std::to_string(index);
      out += ": ";
    }
    out += quote(address);
  }
  return out + (dense ? "]" : "}");
}

}  // namespace

absl::Status CheckTaskAddress(std::string_view address) {
  const auto wrong = [&](std::string_view why) {
    return InvalidArgument(
        "'{}' is not an address: {}; write host:port, [ipv6]:port or "
        "host:%port%",
        address, why);
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return wrong("it has no port");
  std::string_view host = address.substr(0, colon);
  if (!IsPort(address.substr(colon + 1))) {
    return wrong("its port is not 0 to 65535");
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    return IsIpv6(host.substr(1, host.size() - 2))
               ? absl::OkStatus()
               : wrong("no IPv6 address stands in the brackets");
  }
  if (host.find(':') != std::string_view::npos) {
    return wrong("an IPv6 address needs brackets, and a scheme has no place");
  }
  return IsPlainWord(host) ? absl::OkStatus() : wrong("it has no valid host");
}

absl::StatusOr<ClusterSpec> ClusterSpec::FromDef(const ClusterDef& def) {
  ClusterSpec spec;
  for (const ClusterDef::Job& job : def.jobs) {
    FM_RETURN_IF_ERROR(CheckJob(job));
    if (spec.Find(job.name) != nullptr) {
      return InvalidArgument("job '{}' is written twice", job.name);
    }
    spec.jobs_.push_back(job);
  }
  return spec;
}

absl::StatusOr<ClusterSpec> ClusterSpec::FromJobs(
    const std::vector<std::pair<std::string, Tasks>>& jobs) {
  ClusterDef def;
  for (const auto& [name, tasks] : jobs) {
    ClusterDef::Job job{name, {}};
    if (const auto* list = std::get_if<std::vector<std::string>>(&tasks)) {
      for (size_t index = 0; index < list->size(); ++index) {
        job.tasks.emplace(static_cast<int64_t>(index), (*list)[index]);
      }
    } else {
      job.tasks = std::get<JobTasks>(tasks);
    }
    def.jobs.push_back(std::move(job));
  }
  return FromDef(def);
}

const JobTasks* ClusterSpec::Find(std::string_view job) const {
  for (const ClusterDef::Job& known : jobs_) {
    if (known.name == job) return &known.tasks;
  }
  return nullptr;
}

std::vector<std::string> ClusterSpec::Jobs() const {
  std::vector<std::string> names;
  for (const ClusterDef::Job& job : jobs_) names.push_back(job.name);
  return names;
}

namespace {

absl::Status NoSuchJob(std::string_view job,
                       const std::vector<std::string>& known) {
  return NotFound(
      "no job '{}' in the cluster; its jobs are: {}", job,
      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace

absl::StatusOr<size_t> ClusterSpec::NumTasks(std::string_view job) const {
  const JobTasks* tasks = Find(job);
  if (tasks == nullptr) return NoSuchJob(job, Jobs());
  return tasks->size();
}

absl::StatusOr<std::vector<int64_t>> ClusterSpec::TaskIndices(
    std::string_view job) const {
  const JobTasks* tasks = Find(job);
  if (tasks == nullptr) return NoSuchJob(job, Jobs());
  std::vector<int64_t> indices;
  for (const auto& [index, address] : *tasks) indices.push_back(index);
  return indices;
}

absl::StatusOr<std::string> ClusterSpec::TaskAddress(std::string_view job,
                                                     int64_t index) const {
  const JobTasks* tasks = Find(job);
  if (tasks == nullptr) return NoSuchJob(job, Jobs());
  const auto found = tasks->find(index);
  if (found == tasks->end()) {
    return NotFound("no task {} in job '{}', which has {} tasks", index, job,
                    tasks->size());
  }
  return found->second;
}

absl::StatusOr<std::vector<std::optional<std::string>>>
ClusterSpec::JobTaskList(std::string_view job) const {
  // a list includes the missing indices
  constexpr int64_t kIndexMax = 10'000'000;
  const JobTasks* tasks = Find(job);
  if (tasks == nullptr) return NoSuchJob(job, Jobs());
  std::vector<std::optional<std::string>> list;
  if (tasks->empty()) return list;
  if (tasks->rbegin()->first > kIndexMax) {
    return ResourceExhausted("job '{}' has a task {}, too sparse for a list",
                             job, tasks->rbegin()->first);
  }
  list.resize(static_cast<size_t>(tasks->rbegin()->first) + 1);
  for (const auto& [index, address] : *tasks) {
    list[static_cast<size_t>(index)] = address;
  }
  return list;
}

std::vector<std::pair<std::string, ClusterSpec::Tasks>> ClusterSpec::AsDict()
    const {
  std::vector<std::pair<std::string, Tasks>> dict;
  for (const ClusterDef::Job& job : jobs_) {
    if (!IsDense(job.tasks)) {
      dict.emplace_back(job.name, job.tasks);
      continue;
    }
    std::vector<std::string> list;
    for (const auto& [index, address] : job.tasks) list.push_back(address);
    dict.emplace_back(job.name, std::move(list));
  }
  return dict;
}

ClusterDef ClusterSpec::AsClusterDef() const {
  ClusterDef def{jobs_};
  std::sort(def.jobs.begin(), def.jobs.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return def;
}

std::string ClusterSpec::ToString() const {
  const auto quote = [](const std::string& text) { return "'" + text + "'"; };
  std::string out = "ClusterSpec({";
  for (const ClusterDef::Job& job : AsClusterDef().jobs) {
    if (!out.ends_with('{')) out += ", ";
    out += quote(job.name) + ": " + TasksText(job.tasks, quote, false);
  }
  return out + "})";
}

}  // namespace feedmill
