#include "cloud/tpu_resolver.h"

#include <utility>

#include "cloud/google_cloud.h"
#include "cloud/http_json.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/cluster/hostlist.h"
#include "core/cluster/words.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kGrpc = "grpc://";
constexpr char kAttributes[] = "instance/attributes/";

// Names have no ':', addresses do.
bool IsAddresses(std::string_view tpu) {
  return tpu.find(':') != std::string_view::npos;
}

// Parses "grpc://a:1,b:2". Returns the addresses, and true if one has
// "grpc://".
absl::StatusOr<std::pair<std::vector<std::string>, bool>> ReadAddresses(
    const std::string& text) {
  std::vector<std::string> addresses;
  bool grpc = false;
  for (std::string_view word : SplitWords(text, ',')) {
    if (word.starts_with(kGrpc)) {
      grpc = true;
      word.remove_prefix(kGrpc.size());
    }
    const absl::Status status = CheckTaskAddress(word);
    if (!status.ok()) {
      return Annotate(status, fmt::format("task {}", addresses.size()));
    }
    addresses.emplace_back(word);
    if (addresses.size() > kHostsMax) {
      return InvalidArgument("more than {} addresses", kHostsMax);
    }
  }
  return std::pair(std::move(addresses), grpc);
}

// Returns a node's hosts: networkEndpoints, or the single one of older answers.
absl::StatusOr<std::vector<std::string>> ReadEndpoints(const Json& node,
                                                       const std::string& name,
                                                       int64_t default_port) {
  Json endpoints = Json::array({node});
  if (const Json* list = JsonAt(node, {"networkEndpoints"})) endpoints = *list;
  if (!endpoints.is_array() || endpoints.size() > kHostsMax) {
    return Unavailable("TPU '{}': networkEndpoints are no list", name);
  }
  std::vector<std::string> addresses;
  for (const Json& endpoint : endpoints) {
    const std::string ip = TextAt(endpoint, {"ipAddress"});
    if (ip.empty()) {
      return Unavailable("TPU '{}': endpoint {} has no ipAddress", name,
                         addresses.size());
    }
    addresses.push_back(
        JoinHostPort(ip, CountAt(endpoint, {"port"}).value_or(default_port)));
  }
  return addresses;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TpuResolver>> TpuResolver::Create(
    CloudContext context, TpuOptions options) {
  if (options.coordinator.empty() != options.coordinator_address.empty()) {
    return InvalidArgument(
        "a coordinator is a job and an address: give coordinator=JOB and "
        "coordinator_address=HOST:PORT, or neither");
  }
  if (IsAddresses(options.tpu)) {
    const auto addresses = ReadAddresses(options.tpu);
    if (!addresses.ok()) {
      return Annotate(addresses.status(), "the TPU's addresses");
    }
  }
  return std::unique_ptr<TpuResolver>(
      new TpuResolver(std::move(context), std::move(options)));
}

absl::StatusOr<TpuResolver::Hosts> TpuResolver::FromHostnames(
    const std::string& hostnames) const {
  Hosts hosts;
  for (const std::string_view host : SplitWords(hostnames, ',')) {
    if (host.empty() || hosts.addresses.size() >= kHostsMax) {
      return InvalidArgument(
          "the variable TPU_WORKER_HOSTNAMES is a list of at most {} hosts, "
          "not '{}'",
          kHostsMax, hostnames.substr(0, 200));
    }
    hosts.addresses.push_back(IsAddresses(host)
                                  ? std::string(host)
                                  : JoinHostPort(host, options_.port));
  }
  const auto id = context_.environment.Get("TPU_WORKER_ID");
  if (!id.has_value()) return hosts;
  hosts.own = ParseDecimal(*id);
  if (!hosts.own.has_value() ||
      *hosts.own >= static_cast<int64_t>(hosts.addresses.size())) {
    return InvalidArgument(
        "the variable TPU_WORKER_ID is '{}', but TPU_WORKER_HOSTNAMES has "
        "hosts 0 to {}",
        *id, hosts.addresses.size() - 1);
  }
  return hosts;
}

absl::StatusOr<TpuResolver::Hosts> TpuResolver::FromApi(
    const std::string& name) const {
  FM_ASSIGN_OR_RETURN(
      GoogleCloud cloud,
      GoogleCloud::Open(context_, options_.endpoint, options_.timeout));
  FM_ASSIGN_OR_RETURN(const std::string project,
                      cloud.Project(options_.project));
  FM_ASSIGN_OR_RETURN(const std::string zone, cloud.Zone(options_.zone));
  const auto node = cloud.Get(fmt::format(
      "/v2/projects/{}/locations/{}/nodes/{}", PercentEncoded(project),
      PercentEncoded(zone), PercentEncoded(name)));
  if (!node.ok()) {
    return Annotate(node.status(), "cannot look up TPU '" + name + "'");
  }
  const std::string state = TextAt(*node, {"state"});
  if (state != "READY") {
    return Unavailable("TPU '{}' is {}, not READY; wait for it", name,
                       state.empty() ? "in no known state" : state);
  }
  Hosts hosts;
  FM_ASSIGN_OR_RETURN(hosts.addresses,
                      ReadEndpoints(*node, name, options_.port));
  hosts.type = TextAt(*node, {"acceleratorType"});
  return hosts;
}

absl::StatusOr<TpuResolver::Hosts> TpuResolver::FromMetadata() const {
  FM_ASSIGN_OR_RETURN(
      const GoogleCloud cloud,
      GoogleCloud::Open(context_, options_.endpoint, options_.timeout));
  const std::string attributes = kAttributes;
  const auto endpoints =
      cloud.Metadata(attributes + "worker-network-endpoints");
  if (absl::IsNotFound(endpoints.status())) {
    return InvalidArgument(
        "no TPU is named, and this machine is not of one; write tpu:NAME");
  }
  if (!endpoints.ok()) {
    return Annotate(endpoints.status(),
                    "no TPU is named (tpu:NAME), and none is found");
  }
  Hosts hosts;
  // unused:unused:10.0.0.1,unused:unused:10.0.0.2
  for (const std::string_view worker : SplitWords(*endpoints, ',')) {
    const auto fields = SplitWords(worker, ':');
    if (fields.size() < 3 || fields[2].empty() ||
        hosts.addresses.size() >= kHostsMax) {
      return Unavailable(
          "the metadata server's worker-network-endpoints are 'id:port:ip,…', "
          "not '{}'",
          endpoints->substr(0, 200));
    }
    hosts.addresses.push_back(JoinHostPort(fields[2], options_.port));
  }
  auto number = cloud.Metadata(attributes + "agent-worker-number");
  if (number.ok()) hosts.own = ParseDecimal(*number);
  auto type = cloud.Metadata(attributes + "accelerator-type");
  if (type.ok()) hosts.type = *std::move(type);
  for (const absl::Status& status : {number.status(), type.status()}) {
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  if (hosts.own >= static_cast<int64_t>(hosts.addresses.size())) {
    return Unavailable("the metadata server says that this is worker {} of {}",
                       *number, hosts.addresses.size());
  }
  return hosts;
}

absl::StatusOr<TpuResolver::Hosts> TpuResolver::FindHosts() const {
  if (options_.tpu == "local") return Hosts();
  std::string addresses = options_.tpu;
  std::string source = "the TPU's addresses";
  if (addresses.empty()) {
    constexpr char kVariable[] = "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS";
    if (const auto value = context_.environment.Get(kVariable)) {
      addresses = *value;
      source = fmt::format("the variable {}", kVariable);
    } else if (const auto names =
                   context_.environment.Get("TPU_WORKER_HOSTNAMES")) {
      return FromHostnames(*names);
    } else if (const auto name = context_.environment.Get("TPU_NAME")) {
      return FromApi(*name);
    } else {
      return FromMetadata();
    }
  } else if (!IsAddresses(addresses)) {
    return FromApi(addresses);
  }
  auto read = ReadAddresses(addresses);
  if (!read.ok()) return Annotate(read.status(), source);
  return Hosts{std::move(read->first), {}, read->second ? "grpc" : "", ""};
}

absl::StatusOr<ClusterView> TpuResolver::ViewOf(const Hosts& hosts) const {
  ClusterView view;
  if (options_.tpu != "local") {
    std::vector<std::pair<std::string, ClusterSpec::Tasks>> jobs;
    if (!options_.coordinator.empty()) {
      jobs.emplace_back(options_.coordinator,
                        std::vector{options_.coordinator_address});
    }
    jobs.emplace_back(options_.job, hosts.addresses);
    FM_ASSIGN_OR_RETURN(view.spec, ClusterSpec::FromJobs(jobs));
    view.environment = "google";
  }
  if (hosts.own.has_value()) {
    view.task_type = options_.job;
    view.task_id = hosts.own;
  }
  view.rpc_layer = hosts.rpc_layer;
  ApplyOverrides(options_.overrides, &view);
  return view;
}

absl::StatusOr<ClusterView> TpuResolver::Resolve() const {
  FM_ASSIGN_OR_RETURN(const Hosts hosts, FindHosts());
  return ViewOf(hosts);
}

absl::StatusOr<std::string> TpuResolver::MasterIn(
    const ClusterView& view, const TaskRequest& request) const {
  if (view.spec.empty()) return std::string();
  TaskRequest of_task = request;
  if (!of_task.task_type) {
    of_task.task_type = options_.overrides.task_type.value_or(options_.job);
  }
  if (!of_task.task_id)
    of_task.task_id = options_.overrides.task_id.value_or(0);
  return ClusterResolver::MasterIn(view, of_task);
}

absl::StatusOr<AcceleratorCounts> TpuResolver::NumAccelerators(
    const TaskRequest& task) const {
  FM_ASSIGN_OR_RETURN(const Hosts hosts, FindHosts());
  FM_ASSIGN_OR_RETURN(const ClusterView view, ViewOf(hosts));
  const size_t dash = hosts.type.rfind('-');
  const auto total = ParseDecimal(
      dash == std::string::npos ? "" : hosts.type.substr(dash + 1));
  if (!total.has_value()) return LocalAccelerators(context_, view, task);
  const auto count = static_cast<int64_t>(hosts.addresses.size());
  if (count == 0 || *total < count || *total % count != 0) {
    return FailedPrecondition(
        "a TPU of type {} with {} hosts: they cannot all have the same number "
        "of cores",
        hosts.type, count);
  }
  return AcceleratorCounts{{"TPU", *total / count}};
}

}  // namespace feedmill
