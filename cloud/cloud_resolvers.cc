#include "cloud/cloud_resolvers.h"

#include <utility>

#include "cloud/gce_resolver.h"
#include "cloud/kubernetes_resolver.h"
#include "cloud/tpu_resolver.h"
#include "core/base/status.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

using CloudMade = absl::StatusOr<std::unique_ptr<ClusterResolver>>;

constexpr int64_t kPortMax = 65'535;

absl::Status ReadAddressKind(ResolverParameters* parameters,
                             KubernetesOptions::Address* kind) {
  using Address = KubernetesOptions::Address;
  const std::string* text = parameters->Text("address");
  if (text == nullptr) return absl::OkStatus();
  for (const auto& [name, value] :
       {std::pair("pod", Address::kPod), std::pair("host", Address::kHost),
        std::pair("service", Address::kService)}) {
    if (*text != name) continue;
    *kind = value;
    return absl::OkStatus();
  }
  return InvalidArgument(
      "parameter 'address' is pod, host or service, not '{}'", *text);
}

// Reads all other parameters as jobs: worker=app%3Dfeedmill; ';' separates
// several selectors. "job.NAME" is always a job.
absl::Status ReadSelectors(ResolverParameters* parameters,
                           KubernetesOptions* options) {
  constexpr std::string_view kPrefix = "job.";
  options->jobs.clear();
  for (const auto& [name, value] : parameters->Rest()) {
    const bool marked = name.starts_with(kPrefix);
    const std::string job = marked ? name.substr(kPrefix.size()) : name;
    std::vector<std::string> selectors;
    for (const std::string_view selector : SplitWords(value, ';')) {
      selectors.emplace_back(selector);
      if (selector.empty()) {
        return InvalidArgument(
            "parameter '{}' is a job's label selector, such as {}=app%3Dx",
            name, name);
      }
    }
    options->jobs.emplace_back(job, std::move(selectors));
  }
  if (!options->jobs.empty()) return absl::OkStatus();
  return InvalidArgument(
      "kubernetes: needs the labels of a job's pods, such as "
      "kubernetes:?worker=app%3Dfeedmill");
}

CloudMade MakeKubernetes(const ResolverUri& uri, const CloudContext& context) {
  FM_RETURN_IF_ERROR(uri.RefusePath());
  ResolverParameters parameters(uri);
  KubernetesOptions options;
  FM_RETURN_IF_ERROR(parameters.Overrides(&options.overrides));
  FM_RETURN_IF_ERROR(parameters.Count("port", kPortMax, &options.port));
  if (options.port == 0)
    return InvalidArgument("parameter 'port' is 1 to 65535");
  FM_RETURN_IF_ERROR(ReadAddressKind(&parameters, &options.address));
  std::optional<int64_t> not_ready;
  FM_RETURN_IF_ERROR(parameters.Count("not_ready", 1, &not_ready));
  options.not_ready = not_ready == 1;
  parameters.Text("namespace", &options.namespace_name);
  parameters.Text("kubeconfig", &options.kubeconfig);
  parameters.Text("context", &options.context);
  FM_RETURN_IF_ERROR(parameters.Duration("timeout", &options.timeout));
  for (const auto& [name, value] : uri.parameters) {
    // Otherwise a misspelt parameter would be taken for the name of a job.
    const std::string suggestion = parameters.Suggestion(name);
    if (!suggestion.empty() && !parameters.IsTaken(name)) {
      return InvalidArgument(
          "kubernetes: has no parameter '{}'{} A job of that name is job.{}",
          name, suggestion, name);
    }
  }
  FM_RETURN_IF_ERROR(ReadSelectors(&parameters, &options));
  return std::make_unique<KubernetesResolver>(context, std::move(options));
}

CloudMade MakeGce(const ResolverUri& uri, const CloudContext& context) {
  ResolverParameters parameters(uri);
  GceOptions options;
  options.group = uri.path;
  if (options.group.empty()) {
    return InvalidArgument(
        "gce: needs an instance group, such as gce:feedmill");
  }
  FM_RETURN_IF_ERROR(parameters.Port(&options.port));
  FM_RETURN_IF_ERROR(parameters.Jobs(&options.jobs));
  parameters.Text("project", &options.project);
  parameters.Text("zone", &options.zone);
  parameters.Text("region", &options.region);
  parameters.Text("endpoint", &options.endpoint);
  FM_RETURN_IF_ERROR(parameters.Duration("timeout", &options.timeout));
  FM_RETURN_IF_ERROR(parameters.Overrides(&options.overrides));
  FM_RETURN_IF_ERROR(parameters.Finish());
  if (!options.zone.empty() && !options.region.empty()) {
    return InvalidArgument(
        "a group is in a zone or in a region: give 'zone' or 'region'");
  }
  return std::make_unique<GceResolver>(context, std::move(options));
}

CloudMade MakeTpu(const ResolverUri& uri, const CloudContext& context) {
  ResolverParameters parameters(uri);
  TpuOptions options;
  options.tpu = uri.path;
  FM_RETURN_IF_ERROR(parameters.Port(&options.port));
  parameters.Text("project", &options.project);
  parameters.Text("zone", &options.zone);
  parameters.Text("hosts_job", &options.job);
  parameters.Text("coordinator", &options.coordinator);
  parameters.Text("coordinator_address", &options.coordinator_address);
  parameters.Text("endpoint", &options.endpoint);
  FM_RETURN_IF_ERROR(parameters.Duration("timeout", &options.timeout));
  FM_RETURN_IF_ERROR(parameters.Overrides(&options.overrides));
  FM_RETURN_IF_ERROR(parameters.Finish());
  return TpuResolver::Create(context, std::move(options));
}

}  // namespace

absl::Status AddCloudResolvers(const HttpOpener& open_http,
                               ResolverRegistry* registry) {
  const auto add = [&](std::string scheme, auto make) {
    return registry->Add(
        std::move(scheme),
        [make, open_http](const ResolverUri& uri,
                          const ResolverContext& context) -> CloudMade {
          return make(uri, CloudContext{context, open_http});
        });
  };
  FM_RETURN_IF_ERROR(add("gce", MakeGce));
  FM_RETURN_IF_ERROR(add("kubernetes", MakeKubernetes));
  return add("tpu", MakeTpu);
}

}  // namespace feedmill
