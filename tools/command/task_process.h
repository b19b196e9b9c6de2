#ifndef FEEDMILL_TOOLS_COMMAND_TASK_PROCESS_H_
#define FEEDMILL_TOOLS_COMMAND_TASK_PROCESS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/resolver.h"
#include "feedmill/server.h"
#include "tools/command/server_flags.h"

namespace feedmill {

class ScaleActor;

// Settings of a command that runs a task of a cluster until a signal ends it.
struct TaskProcess {
  // The cluster's resolver, and its first result.
  std::shared_ptr<const ClusterResolver> resolver;
  ClusterSpec known;
  absl::Duration watch;  // interval between polls for changes
  std::string ready_file;
  HttpFlags http;
  ScaleActor* scale = nullptr;  // null: nothing acts on the wanted number
  std::string op_plugins{};     // of --op-plugin
  absl::Duration drain_timeout;
};

// InvalidArgument if the cluster of this URI has no jobs, with the reason.
absl::Status CheckHasJobs(const ClusterView& view, const std::string& uri);

// Polls a cluster until it has a dispatcher, because a worker may start first.
// Reports the wait at once and every 10 s. `option`: the flag of `timeout`, for
// messages. nullopt: SIGINT or SIGTERM. DeadlineExceeded after `timeout`.
// Resolver errors are returned only for the first poll.
absl::StatusOr<std::optional<ClusterView>> AwaitDispatcher(
    const ClusterResolver& resolver, const std::string& uri,
    absl::Duration watch, absl::Duration timeout,
    std::string_view option = "--dispatcher-timeout");

// Starts `server`, lets it follow changes of its cluster, writes its address to
// the ready file, and drains it on the first SIGINT or SIGTERM. Returns the
// reason of its end.
absl::Status RunTask(Server& server, const TaskProcess& process);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TASK_PROCESS_H_
