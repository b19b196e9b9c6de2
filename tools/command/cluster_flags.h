#ifndef FEEDMILL_TOOLS_COMMAND_CLUSTER_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_CLUSTER_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/command/flags.h"

namespace feedmill {

// A cluster, and which of its jobs are the service.
struct ClusterFlags {
  std::string uri;
  std::string jobs;

  // `help`: of --cluster.
  void Declare(FlagSet& flags, const std::string& help);
  bool given() const { return !uri.empty(); }
  // The URI with the parameter "roles" for --jobs.
  std::string Uri() const;
  // The role's name for a job that is named as the cluster names it.
  absl::StatusOr<std::string> RenamedJob(const std::string& job) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_CLUSTER_FLAGS_H_
