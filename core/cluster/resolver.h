#ifndef FEEDMILL_CORE_CLUSTER_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_RESOLVER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/cluster/accelerators.h"
#include "core/cluster/cluster_spec.h"
#include "core/cluster/environment.h"

namespace feedmill {

// What a resolver knows at one moment: all of it read together, so that the
// task and the cluster that it stands in belong to each other.
struct ClusterView {
  ClusterSpec spec;
  // This process's own task, as far as it is known.
  std::optional<std::string> task_type;
  std::optional<int64_t> task_id;
  std::string rpc_layer;    // of URLs, such as "tcp"; "" for none
  std::string environment;  // the provider, such as "google"; "" for none
  // The one to ask where no task is named; its meaning is the resolver's.
  std::optional<std::string> master;
  // Reason why there are no jobs, where the resolver knows one: "the variable
  // TF_CONFIG is not set". For errors.
  std::string no_jobs_because{};
};

// What a question is about; what is absent is the resolver's own. A task of 0
// and a layer of "" are values like any other.
struct TaskRequest {
  std::optional<std::string> task_type;
  std::optional<int64_t> task_id;
  std::optional<std::string> rpc_layer;
};

// What a resolver may be given to say in place of what it finds.
struct ResolverOverrides {
  std::optional<std::string> task_type;
  std::optional<int64_t> task_id;
  std::optional<std::string> rpc_layer;
  std::optional<std::string> environment;
};

// What resolvers look at outside. Tests pass values; HostContext() of
// core/cluster/host_context.h is the real one.
struct ResolverContext {
  Environment environment;
  // A file's whole content. NotFound if there is no such file.
  std::function<absl::StatusOr<std::string>(const std::string& path)> read_file;
  DeviceProber probe_devices;
};

// Finds out which tasks a cluster has, and which of them this process is.
//
// Every call looks anew, and nothing is kept between calls, so that an answer
// is never older than the question. Any thread may call at any time.
// Errors: InvalidArgument names the source (variable, file) and field that is
// wrong; NotFound an unknown job or task; Unavailable a source that does not
// answer.
//
//   auto resolver = BuiltinResolvers().Make("env:", HostContext());
//   (*resolver)->Master({.task_type = "dispatcher", .task_id = 0});
//
// Source: tf.distribute.cluster_resolver.ClusterResolver.
class ClusterResolver {
 public:
  virtual ~ClusterResolver() = default;

  virtual absl::StatusOr<ClusterView> Resolve() const = 0;
  // The accelerators of the machine that runs a task. FailedPrecondition if
  // that is another machine than this and nothing here says.
  virtual absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const = 0;

  // The task's address, as "layer://host:port" where there is a layer. "" if
  // neither the request nor the resolver says which task.
  absl::StatusOr<std::string> Master(const TaskRequest& request = {}) const;

  // Parts of Resolve().
  absl::StatusOr<ClusterSpec> Spec() const;
  absl::StatusOr<std::optional<std::string>> TaskType() const;
  absl::StatusOr<std::optional<int64_t>> TaskId() const;
  absl::StatusOr<std::string> RpcLayer() const;
  absl::StatusOr<std::string> EnvironmentName() const;

 protected:
  ClusterResolver() = default;
  ClusterResolver(const ClusterResolver&) = default;
  ClusterResolver& operator=(const ClusterResolver&) = default;

  // Unless a resolver has rules of its own: the address of the task asked for,
  // else of this process's.
  virtual absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const;
};

// "layer://address", or "address" without a layer; "" stays "".
std::string MasterUrl(const std::string& address, const std::string& layer);

// Of at most one job with at most one task: such a one needs no master.
bool HasOneTaskAtMost(const ClusterSpec& spec);

void ApplyOverrides(const ResolverOverrides& overrides, ClusterView* view);

// NumAccelerators of a resolver that knows only the machine it runs on.
absl::StatusOr<AcceleratorCounts> LocalAccelerators(
    const ResolverContext& context, const ClusterView& view,
    const TaskRequest& task);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_RESOLVER_H_
