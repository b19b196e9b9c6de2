#ifndef FEEDMILL_SERVER_SERVER_DEF_H_
#define FEEDMILL_SERVER_SERVER_DEF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "feedmill/cluster.h"

namespace feedmill {

// What a task does; follows from its job's name.
enum class TaskRole {
  kDispatcher,  // job "dispatcher": plans jobs and hands their work out
  kWorker,      // job "worker": reads, decodes and batches
  kLocal,       // job "local": both, in one process
  kPlain,       // any other, such as "ps": says who it is, and waits
};
TaskRole RoleOf(std::string_view job);

// With every field set, the cluster checked and sorted. InvalidArgument: the
// job or task is not said and not the only one, or an address is none;
// NotFound: the cluster has no such job or task, or there is no such protocol.
absl::StatusOr<ServerDef> CompleteServerDef(const ServerDef& def,
                                            const ServerTask& task = {});

// "host:port" of a task, taken apart; a placeholder such as %port% is port 0,
// brackets are taken off. REQUIRES: CheckTaskAddress(address).
struct TaskAddress {
  std::string host;
  uint16_t port = 0;
};
TaskAddress SplitTaskAddress(std::string_view address);

// The cluster with this task at this address, in place of what it may say of
// it. Sorted. REQUIRES: ClusterSpec takes the cluster.
ClusterDef WithTask(const ClusterDef& cluster, const std::string& job,
                    int64_t index, const std::string& address);

// A worker of this cluster that the cluster does not list, at `address`: with
// the first index after those that it lists.
// REQUIRES: ClusterSpec takes the cluster.
ServerDef UnlistedWorker(const ClusterDef& cluster, const std::string& address);

// Which task is the dispatcher of this cluster: of job "dispatcher", else
// "local". NotFound if there is none, InvalidArgument if there are several.
struct DispatcherTask {
  std::string job;
  int64_t index = 0;
  std::string address;  // "host:port", the port may be 0
};
absl::StatusOr<DispatcherTask> FindDispatcherTask(const ClusterDef& cluster);

}  // namespace feedmill

#endif  // FEEDMILL_SERVER_SERVER_DEF_H_
