#include "core/cluster/sagemaker_resolver.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/cluster/hostlist.h"
#include "core/cluster/job_layout.h"
#include "core/cluster/master.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

absl::StatusOr<std::vector<std::string>> ReadHosts(const std::string& text) {
  if (text.empty()) return std::vector<std::string>();
  const auto list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array() || list.size() > kHostsMax) {
    return InvalidArgument(
        "the variable SM_HOSTS is a JSON list of at most {} host names",
        kHostsMax);
  }
  std::vector<std::string> hosts;
  for (const auto& host : list) {
    if (!host.is_string()) {
      return InvalidArgument(
          "entry {} of the variable SM_HOSTS is not a host name", hosts.size());
    }
    hosts.push_back(host.get<std::string>());
  }
  std::sort(hosts.begin(), hosts.end(), NaturalLess);
  const auto twice = std::adjacent_find(hosts.begin(), hosts.end());
  if (twice != hosts.end()) {
    return InvalidArgument("host '{}' is twice in the variable SM_HOSTS",
                           *twice);
  }
  return hosts;
}

}  // namespace

absl::StatusOr<ClusterView> SageMakerResolver::Resolve() const {
  const auto text = context_.environment.Get("SM_HOSTS");
  const auto current = context_.environment.Get("SM_CURRENT_HOST");
  if (!text.has_value() || !current.has_value()) {
    return InvalidArgument(
        "the variable {} is not set; this is not a SageMaker training job",
        text.has_value() ? "SM_CURRENT_HOST" : "SM_HOSTS");
  }
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, ReadHosts(*text));
  ClusterView view;
  if (!hosts.empty()) {
    const auto own = std::find(hosts.begin(), hosts.end(), *current);
    if (own == hosts.end() && !current->empty()) {
      return InvalidArgument(
          "host '{}' of the variable SM_CURRENT_HOST is not in SM_HOSTS",
          *current);
    }
    std::optional<int64_t> rank;
    if (own != hosts.end()) rank = own - hosts.begin();
    std::vector<std::string> addresses;
    for (const std::string& host : hosts) {
      addresses.push_back(fmt::format("{}:{}", host, options_.port));
    }
    const absl::Status status =
        CutIntoJobs(options_.jobs, addresses, rank, &view);
    if (!status.ok()) return Annotate(status, "the variable SM_HOSTS");
  }
  ApplyOverrides(options_.overrides, &view);
  return view;
}

absl::StatusOr<std::string> SageMakerResolver::MasterIn(
    const ClusterView& view, const TaskRequest& request) const {
  if (HasOneTaskAtMost(view.spec)) return std::string();
  return ClusterResolver::MasterIn(view, request);
}

}  // namespace feedmill
