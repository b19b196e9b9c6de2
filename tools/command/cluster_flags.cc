#include "tools/command/cluster_flags.h"

#include "core/base/status.h"
#include "core/cluster/percent_encoding.h"
#include "core/cluster/role_resolver.h"
#include "feedmill/resolver.h"

namespace feedmill {

void ClusterFlags::Declare(FlagSet& flags, const std::string& help) {
  flags.Text("--cluster", "URI", help, &uri);
  flags.Text("--jobs", "ROLE=JOB[,...]",
             "Jobs of the cluster that are the service, such as "
             "dispatcher=ps,worker=data. A role without a job has no tasks; "
             "default: the jobs named like the roles",
             &jobs);
}

std::string ClusterFlags::Uri() const {
  if (jobs.empty()) return uri;
  return fmt::format("{}{}roles={}", uri, uri.find('?') == uri.npos ? '?' : '&',
                     PercentEncode(jobs));
}

absl::StatusOr<std::string> ClusterFlags::RenamedJob(
    const std::string& job) const {
  if (jobs.empty()) return job;
  FM_ASSIGN_OR_RETURN(const JobRoles roles, ParseJobRoles(jobs));
  return feedmill::RenamedJob(roles, job);
}

}  // namespace feedmill
