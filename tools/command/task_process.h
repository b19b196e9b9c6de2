#ifndef FEEDMILL_TOOLS_COMMAND_TASK_PROCESS_H_
#define FEEDMILL_TOOLS_COMMAND_TASK_PROCESS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/resolver.h"
#include "feedmill/server.h"
#include "tools/command/http_flags.h"

namespace feedmill {

// How a command runs its task of a cluster until it is told to end.
struct TaskProcess {
  // Where the cluster is described, and what it said of it at first.
  std::shared_ptr<const ClusterResolver> resolver;
  ClusterSpec known;
  absl::Duration watch;  // how often to look whether it has changed
  std::string ready_file;
  HttpFlags http;
  absl::Duration drain_timeout;
};

// InvalidArgument if the cluster of this URI has no jobs, with the reason.
absl::Status CheckHasJobs(const ClusterView& view, const std::string& uri);

// Looks at a cluster until it has a dispatcher: a worker may come first. Says
// at once and each 10 s that it waits. nullopt: a SIGINT or SIGTERM came;
// DeadlineExceeded after `timeout`; the resolver's own error only where the
// first look fails.
absl::StatusOr<std::optional<ClusterView>> AwaitDispatcher(
    const ClusterResolver& resolver, const std::string& uri,
    absl::Duration watch, absl::Duration timeout);

// Starts `server`, lets it follow its cluster, says in the ready file where it
// serves, and drains it at the first SIGINT or SIGTERM. Returns why it ended.
absl::Status RunTask(Server& server, const TaskProcess& process);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TASK_PROCESS_H_
