// Resolvers that use no network, by their URI schemes.

#include "core/base/status.h"
#include "core/cluster/given_resolvers.h"
#include "core/cluster/sagemaker_resolver.h"
#include "core/cluster/slurm_resolver.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

using ResolverOrError = absl::StatusOr<std::unique_ptr<ClusterResolver>>;

constexpr int64_t kCountMax = 100'000;

template <class Resolver>
ResolverOrError MakeFromVariables(const ResolverUri& uri,
                                  const ResolverContext& context) {
  FM_RETURN_IF_ERROR(uri.RefusePath());
  ResolverParameters parameters(uri);
  ResolverOverrides overrides;
  FM_RETURN_IF_ERROR(parameters.Overrides(&overrides));
  FM_RETURN_IF_ERROR(parameters.Finish());
  return std::make_unique<Resolver>(context, overrides);
}

ResolverOrError MakeFile(const ResolverUri& uri,
                         const ResolverContext& context) {
  // file:///a/b means file:/a/b.
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

ResolverOrError MakeSlurm(const ResolverUri& uri,
                          const ResolverContext& context) {
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

ResolverOrError MakeSageMaker(const ResolverUri& uri,
                              const ResolverContext& context) {
  FM_RETURN_IF_ERROR(uri.RefusePath());
  ResolverParameters parameters(uri);
  SageMakerOptions options;
  FM_RETURN_IF_ERROR(parameters.Port(&options.port));
  FM_RETURN_IF_ERROR(parameters.Jobs(&options.jobs));
  FM_RETURN_IF_ERROR(parameters.Overrides(&options.overrides));
  FM_RETURN_IF_ERROR(parameters.Finish());
  return std::make_unique<SageMakerResolver>(context, options);
}

}  // namespace

ResolverRegistry BuiltinResolvers() {
  ResolverRegistry registry;
  // Add() fails only if a scheme is given twice.
  registry.Add("env", MakeFromVariables<EnvResolver>).IgnoreError();
  registry.Add("file", MakeFile).IgnoreError();
  registry.Add("sagemaker", MakeSageMaker).IgnoreError();
  registry.Add("slurm", MakeSlurm).IgnoreError();
  registry.Add("tf_config", MakeFromVariables<TfConfigResolver>).IgnoreError();
  return registry;
}

}  // namespace feedmill
