// The resolvers that come with feedmill, by their schemes.

#include "core/base/status.h"
#include "core/cluster/env_resolver.h"
#include "core/cluster/file_resolver.h"
#include "core/cluster/gce_resolver.h"
#include "core/cluster/kubernetes_resolver.h"
#include "core/cluster/resolver_registry.h"
#include "core/cluster/sagemaker_resolver.h"
#include "core/cluster/slurm_resolver.h"
#include "core/cluster/tf_config_resolver.h"
#include "core/cluster/tpu_resolver.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

using Made = absl::StatusOr<std::unique_ptr<ClusterResolver>>;

constexpr int64_t kPortMax = 65'535;
constexpr int64_t kCountMax = 100'000;

template <class Resolver>
Made MakeFromVariables(const ResolverUri& uri, const ResolverContext& context) {
  FM_RETURN_IF_ERROR(uri.RefusePath());
  ResolverParameters parameters(uri);
  ResolverOverrides overrides;
  FM_RETURN_IF_ERROR(parameters.Overrides(&overrides));
  FM_RETURN_IF_ERROR(parameters.Finish());
  return std::make_unique<Resolver>(context, overrides);
}

Made MakeFile(const ResolverUri& uri, const ResolverContext& context) {
  // file:///a/b is file:/a/b.
  const std::string path =
      uri.path.starts_with("///") ? uri.path.substr(2) : uri.path;
  if (path.empty() || path.starts_with("//")) {
    return InvalidArgument(
        "file: needs a path on this machine, such as file:cluster.yaml");
  }
  ResolverParameters parameters(uri);
  ResolverOverrides overrides;
  FM_RETURN_IF_ERROR(parameters.Overrides(&overrides));
  FM_RETURN_IF_ERROR(parameters.Finish());
  return std::make_unique<FileResolver>(path, context, overrides);
}

Made MakeSlurm(const ResolverUri& uri, const ResolverContext& context) {
  FM_RETURN_IF_ERROR(uri.RefusePath());
  ResolverParameters parameters(uri);
  SlurmOptions options;
  FM_RETURN_IF_ERROR(parameters.Port(&options.port_base));
  FM_RETURN_IF_ERROR(parameters.Jobs(&options.jobs));
  FM_RETURN_IF_ERROR(
      parameters.Count("tasks_per_node", kCountMax, &options.tasks_per_node));
  FM_RETURN_IF_ERROR(
      parameters.Count("gpus_per_node", kCountMax, &options.gpus_per_node));
  FM_RETURN_IF_ERROR(
      parameters.Count("gpus_per_task", kCountMax, &options.gpus_per_task));
  FM_RETURN_IF_ERROR(parameters.Overrides(&options.overrides));
  FM_RETURN_IF_ERROR(parameters.Finish());
  return std::make_unique<SlurmResolver>(context, options);
}

Made MakeSageMaker(const ResolverUri& uri, const ResolverContext& context) {
  FM_RETURN_IF_ERROR(uri.RefusePath());
  ResolverParameters parameters(uri);
  SageMakerOptions options;
  FM_RETURN_IF_ERROR(parameters.Port(&options.port));
  FM_RETURN_IF_ERROR(parameters.Jobs(&options.jobs));
  FM_RETURN_IF_ERROR(parameters.Overrides(&options.overrides));
  FM_RETURN_IF_ERROR(parameters.Finish());
  return std::make_unique<SageMakerResolver>(context, options);
}

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

// Every other parameter is a job: worker=app%3Dfeedmill, several selectors
// with ';' between. "job.NAME" is one whatever its name.
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

Made MakeKubernetes(const ResolverUri& uri, const ResolverContext& context) {
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
    // A misspelt parameter would be a job that nobody has.
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

Made MakeGce(const ResolverUri& uri, const ResolverContext& context) {
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

Made MakeTpu(const ResolverUri& uri, const ResolverContext& context) {
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

ResolverRegistry BuiltinResolvers() {
  ResolverRegistry registry;
  // Add() can fail for a scheme given twice only.
  registry.Add("env", MakeFromVariables<EnvResolver>).IgnoreError();
  registry.Add("file", MakeFile).IgnoreError();
  registry.Add("gce", MakeGce).IgnoreError();
  registry.Add("kubernetes", MakeKubernetes).IgnoreError();
  registry.Add("sagemaker", MakeSageMaker).IgnoreError();
  registry.Add("slurm", MakeSlurm).IgnoreError();
  registry.Add("tf_config", MakeFromVariables<TfConfigResolver>).IgnoreError();
  registry.Add("tpu", MakeTpu).IgnoreError();
  return registry;
}

}  // namespace feedmill
