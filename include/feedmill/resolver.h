#ifndef FEEDMILL_RESOLVER_H_
#define FEEDMILL_RESOLVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/cluster.h"

// Resolvers find out which tasks a cluster has, from where its launcher says it
// (docs/servers.md):
//
//   const auto resolvers = feedmill::AllResolvers();
//   if (!resolvers.ok()) return resolvers.status();
//   const auto resolver =
//       resolvers->Make("kubernetes:", feedmill::HostContext());
//   if (!resolver.ok()) return resolver.status();
//   const auto cluster = (*resolver)->Spec();  // cluster.h

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// ---- a resolver

// Environment variables as a value, so that what reads them is a function of
// its arguments: tests pass a map, HostContext() has the process's own. As
// thread-safe as the function in it.
//
//   const std::map<std::string, std::string> map = {{"FEEDMILL_JOB", "ps"}};
//   Environment(map).Get("FEEDMILL_JOB");  // "ps"
class Environment {
 public:
  using Lookup = std::function<std::optional<std::string>(const std::string&)>;

  Environment() : Environment(std::map<std::string, std::string>()) {}
  explicit Environment(Lookup lookup) : lookup_(std::move(lookup)) {}
  explicit Environment(std::map<std::string, std::string> variables)
      : lookup_([variables = std::move(variables)](
                    const std::string& name) -> std::optional<std::string> {
          const auto found = variables.find(name);
          if (found == variables.end()) return std::nullopt;
          return found->second;
        }) {}

  // nullopt if it is not set; "" if it is set to nothing.
  std::optional<std::string> Get(const std::string& name) const {
    return lookup_(name);
  }

 private:
  Lookup lookup_;
};

// From the kind of accelerator ("GPU", "TPU") to how many of it; none has no
// entry.
using AcceleratorCounts = std::map<std::string, int64_t>;

// The devices of a machine, as its file system lists them.
struct DeviceListing {
  struct PciDevice {
    uint32_t vendor = 0;        // 0x10de: NVIDIA, 0x1002: AMD, 0x1ae0: Google
    uint32_t device_class = 0;  // 24 bits: class, subclass, interface
    std::string driver;         // the one bound to it; "" for none
    uint32_t device = 0;        // which one of the vendor's
  };
  std::vector<std::string> device_files;  // the names in /dev
  std::vector<PciDevice> pci;             // /sys/bus/pci/devices
};
using DeviceProber = std::function<absl::StatusOr<DeviceListing>()>;

// The answer of a resolver at one moment: all of it read together, so that the
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

// The task that a question is about; absent fields are the resolver's own. A
// task of 0 and a layer of "" are values like any other.
struct TaskRequest {
  std::optional<std::string> task_type;
  std::optional<int64_t> task_id;
  std::optional<std::string> rpc_layer;
};

// Values that replace those that a resolver finds.
struct ResolverOverrides {
  std::optional<std::string> task_type;
  std::optional<int64_t> task_id;
  std::optional<std::string> rpc_layer;
  std::optional<std::string> environment;
};

// The surroundings that resolvers read. Tests pass values; HostContext() is
// the real one.
struct ResolverContext {
  Environment environment;
  // A file's whole content. NotFound if there is no such file.
  std::function<absl::StatusOr<std::string>(const std::string& path)> read_file;
  DeviceProber probe_devices;
};

// This machine, as resolvers look at it: the process's variables, its files,
// /dev and /sys/bus/pci. Any thread, as long as none sets variables.
ResolverContext HostContext();

// Finds out which tasks a cluster has, and which of them this process is.
//
// Every call looks again, and nothing is kept between calls, so that an answer
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

void ApplyOverrides(const ResolverOverrides& overrides, ClusterView* view);

// NumAccelerators of a resolver that knows only the machine it runs on.
absl::StatusOr<AcceleratorCounts> LocalAccelerators(
    const ResolverContext& context, const ClusterView& view,
    const TaskRequest& task);

// ---- resolvers by URI

// One job of a layout, which divides a list of tasks into jobs, in the order
// written. At most one job has no count: it gets the tasks that the other jobs
// leave, possibly none.
struct JobShare {
  std::string job;
  std::optional<int64_t> count;
  friend bool operator==(const JobShare&, const JobShare&) = default;
};
using JobLayout = std::vector<JobShare>;

// "slurm:?port=8888&jobs=dispatcher:1,worker:3": a scheme, a path that may be
// empty, parameters. %XX stands for a byte in the path and in parameters.
struct ResolverUri {
  std::string scheme;
  std::string path;
  std::vector<std::pair<std::string, std::string>> parameters;

  // InvalidArgument: no scheme, a bad %XX, a parameter without a value or
  // given twice.
  static absl::StatusOr<ResolverUri> Parse(std::string_view text);

  // InvalidArgument if there is a path.
  absl::Status RefusePath() const;
};

// Takes a URI's parameters one by one; Finish() refuses the remaining ones.
// Every resolver has job, task, rpc_layer and environment, which override the
// values that it finds. Errors name the parameter.
class ResolverParameters {
 public:
  explicit ResolverParameters(const ResolverUri& uri) : uri_(uri) {}

  const std::string* Text(std::string_view name);
  // Each sets `value` if the parameter is given.
  void Text(std::string_view name, std::string* value);
  absl::Status Count(std::string_view name, int64_t max,
                     std::optional<int64_t>* value);
  // "10s", "500ms": up to an hour.
  absl::Status Duration(std::string_view name, absl::Duration* value);
  // The parameter "port": 1 to 65535.
  absl::Status Port(int64_t* value);
  // The parameter "jobs" ("dispatcher:1,worker:3").
  absl::Status Jobs(JobLayout* value);
  absl::Status Overrides(ResolverOverrides* overrides);
  // Takes all parameters that are left, and returns them.
  std::vector<std::pair<std::string, std::string>> Rest();
  bool IsTaken(std::string_view name) const;
  // "; did you mean …?" of all names taken so far.
  std::string Suggestion(std::string_view name) const;
  absl::Status Finish() const;

 private:
  const ResolverUri& uri_;
  std::vector<std::string_view> known_;
};

using ResolverFactory =
    std::function<absl::StatusOr<std::unique_ptr<ClusterResolver>>(
        const ResolverUri& uri, const ResolverContext& context)>;

// Factories of resolvers by the scheme of their URIs. main() makes one registry
// and passes it to its callees; a program with resolvers of its own adds them
// first. Const calls from any thread.
//
//   ResolverRegistry resolvers = BuiltinResolvers();
//   FM_RETURN_IF_ERROR(resolvers.Add("consul", MakeConsulResolver));
//   auto resolver = resolvers.Make("consul:feedmill", context);
class ResolverRegistry {
 public:
  // InvalidArgument if the scheme is taken ("union" always is), or is not
  // lower-case letters, digits, '_', '+', '-' and '.', a letter first.
  absl::Status Add(std::string scheme, ResolverFactory factory);

  // "union:?1=URI&2=URI" (each with its '%', '&' and such encoded; parameters
  // of any name, in the order written) is a UnionResolver of these. Every URI
  // takes "roles=dispatcher=ps,worker=data", which names the cluster's jobs
  // that are the service: they get the names of their roles, and another job
  // "worker" becomes "other_worker".
  // InvalidArgument names the nearest scheme to an unknown one, and the
  // parameter that is wrong. Nothing is looked at outside yet.
  absl::StatusOr<std::unique_ptr<ClusterResolver>> Make(
      std::string_view uri, const ResolverContext& context) const;

  std::vector<std::string> Schemes() const;  // sorted

 private:
  absl::StatusOr<std::unique_ptr<ClusterResolver>> MakeAs(
      const ResolverUri& uri, const ResolverContext& context) const;
  absl::StatusOr<std::unique_ptr<ClusterResolver>> MakeUnion(
      const ResolverUri& uri, const ResolverContext& context) const;

  std::map<std::string, ResolverFactory, std::less<>> factories_;
};

// env:  file:PATH  sagemaker:  slurm:  tf_config:
// None of them asks over the network.
ResolverRegistry BuiltinResolvers();

// All resolvers: BuiltinResolvers(); `gce:`, `kubernetes:` and `tpu:`,
// which ask a cloud over HTTP; and the resolvers of the shared objects
// that the variable FEEDMILL_RESOLVER_PLUGINS names. Errors name the plugin.
//
//   absl::StatusOr<ResolverRegistry> resolvers = AllResolvers();
//   auto resolver = resolvers->Make("kubernetes:", HostContext());
absl::StatusOr<ResolverRegistry> AllResolvers();

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_RESOLVER_H_
