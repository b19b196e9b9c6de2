#ifndef FEEDMILL_CORE_CLUSTER_ROLE_RESOLVER_H_
#define FEEDMILL_CORE_CLUSTER_ROLE_RESOLVER_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feedmill/resolver.h"

namespace feedmill {

// Pairs of a role ("dispatcher", "worker" or "local") and the cluster's job
// that has it; "" if none has.
using JobRoles = std::vector<std::pair<std::string, std::string>>;

// Reads "dispatcher=ps,worker=data". InvalidArgument for another role, or for a
// role or a job that is named twice.
absl::StatusOr<JobRoles> ParseJobRoles(std::string_view text);

// The name that a job of the cluster has by `roles`: a role for the job that
// has it. A job that is named like a role of another job is "other_worker".
std::string RenamedJob(const JobRoles& roles, const std::string& job);

// Gives the jobs of another resolver's cluster the names of their roles.
class RoleResolver : public ClusterResolver {
 public:
  RoleResolver(std::unique_ptr<ClusterResolver> inner, JobRoles roles);

  absl::StatusOr<ClusterView> Resolve() const override;
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;

 private:
  const std::unique_ptr<ClusterResolver> inner_;
  const JobRoles roles_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_ROLE_RESOLVER_H_
