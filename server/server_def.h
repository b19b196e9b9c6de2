#ifndef FEEDMILL_SERVER_SERVER_DEF_H_
#define FEEDMILL_SERVER_SERVER_DEF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "feedmill/cluster.h"

namespace feedmill {

// The role of a task. Follows from its job's name.
enum class TaskRole {
  kDispatcher,  // job "dispatcher": plans jobs and distributes work
  kWorker,      // job "worker": reads, decodes and batches
  kLocal,       // job "local": both, in one process
  kPlain,       // any other, such as "ps": answers status requests only
};
TaskRole RoleOf(std::string_view job);

// Completes every field; checks and sorts the cluster. InvalidArgument: the job
// or task is not given and not unique, or an address is malformed. NotFound:
// the cluster has no such job or task, or the protocol is unknown.
absl::StatusOr<ServerDef> CompleteServerDef(const ServerDef& def,
                                            const ServerTask& task = {});

// A task's "host:port" split into its parts. A placeholder such as %port% is
// port 0; brackets are removed. REQUIRES: CheckTaskAddress(address).
struct TaskAddress {
  std::string host;
  uint16_t port = 0;
};
TaskAddress SplitTaskAddress(std::string_view address);

// Returns the cluster with this task's address set or replaced. Sorted.
// REQUIRES: ClusterSpec accepts the cluster.
ClusterDef WithTask(const ClusterDef& cluster, const std::string& job,
                    int64_t index, const std::string& address);

// Returns the def of a worker at `address` that the cluster does not list. It
// gets the first index after the listed workers.
// REQUIRES: ClusterSpec accepts the cluster.
ServerDef UnlistedWorker(const ClusterDef& cluster, const std::string& address);

// The dispatcher task of a cluster: of job "dispatcher", else of "local".
// NotFound if there is none, InvalidArgument if there are several.
struct DispatcherTask {
  std::string job;
  int64_t index = 0;
  std::string address;  // "host:port", the port may be 0
};
absl::StatusOr<DispatcherTask> FindDispatcherTask(const ClusterDef& cluster);

}  // namespace feedmill

#endif  // FEEDMILL_SERVER_SERVER_DEF_H_
