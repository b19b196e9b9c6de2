// The documentation page of tf.distribute.cluster_resolver.ClusterResolver, in
// C++: a custom resolver, chosen by a URI like the built-in ones.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "feedmill/resolver.h"

namespace {

using feedmill::AcceleratorCounts;
using feedmill::ClusterSpec;
using feedmill::ClusterView;
using feedmill::ResolverContext;
using feedmill::ResolverUri;
using feedmill::TaskRequest;

// Asks the cluster's management system at every call; here, a list of machines
// in a variable.
class RackResolver : public feedmill::ClusterResolver {
 public:
  explicit RackResolver(ResolverContext context)
      : context_(std::move(context)) {}

  absl::StatusOr<ClusterView> Resolve() const override {
    ClusterView view;
    auto spec =
        ClusterSpec::FromJson(context_.environment.Get("RACK").value_or("{}"));
    if (!spec.ok()) return spec.status();
    view.spec = *std::move(spec);
    view.task_type = "worker";
    view.task_id = 1;
    view.rpc_layer = "tcp";
    return view;
  }
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest&) const override {
    return AcceleratorCounts{{"GPU", 4}};
  }

 private:
  const ResolverContext context_;
};

}  // namespace

int main() {
  feedmill::ResolverRegistry resolvers = feedmill::BuiltinResolvers();
  const absl::Status added = resolvers.Add(
      "rack",
      [](const ResolverUri&, const ResolverContext& context)
          -> absl::StatusOr<std::unique_ptr<feedmill::ClusterResolver>> {
        return std::make_unique<RackResolver>(context);
      });
  if (!added.ok()) return 1;
  // The environment can change between calls.
  std::string rack = R"({"worker": ["w0:2222", "w1:2222"]})";
  ResolverContext context;
  context.environment = feedmill::Environment(
      [&rack](const std::string&) { return std::optional(rack); });
  const auto resolver = resolvers.Make("rack:", context);
  if (!resolver.ok()) return 1;
  std::puts((*resolver)->Spec()->ToString().c_str());
  std::puts((*resolver)->Master()->c_str());
  rack = R"({"worker": ["w0:2222", "w9:2222"]})";
  std::puts((*resolver)->Master()->c_str());
  std::puts((*resolver)
                ->Master({.task_type = "worker", .task_id = 0, .rpc_layer = ""})
                ->c_str());
  const std::string environment = *(*resolver)->EnvironmentName();
  std::printf("GPUs: %d, environment: \"%s\"\n",
              static_cast<int>((*resolver)->NumAccelerators()->at("GPU")),
              environment.c_str());
  return 0;
}
