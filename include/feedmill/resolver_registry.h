#ifndef FEEDMILL_RESOLVER_REGISTRY_H_
#define FEEDMILL_RESOLVER_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "feedmill/resolver.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

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

// All but letters, digits, '-', '.', '_' and '~' as %XX.
std::string PercentEncode(std::string_view text);

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

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_RESOLVER_REGISTRY_H_
