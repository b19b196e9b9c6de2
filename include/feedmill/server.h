#ifndef FEEDMILL_SERVER_H_
#define FEEDMILL_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/cluster.h"
#include "feedmill/dispatcher.h"
#include "feedmill/worker.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Address of the dispatcher of a cluster, as ReadOptions::service and
// WorkerConfig::dispatcher take it. NotFound if the cluster has no job
// "dispatcher" or "local"; InvalidArgument if that has several tasks, or an
// address without a port.
absl::StatusOr<std::string> FindDispatcher(const ClusterSpec& cluster);

struct ServerConfig {
  // The address that the task listens on. Its dispatcher and worker use it in
  // place of their own endpoints. A local worker listens on any port.
  EndpointConfig endpoint{};
  // A folder that all tasks see: each writes its address there, and finds the
  // address of a dispatcher whose port is 0. Not needed where the dispatcher's
  // port is in the cluster.
  std::string publish{};
  // Settings of the services. Their endpoints, their registries and the
  // worker's dispatcher are not used: they come from here and from the cluster.
  // Exception: a cluster without a dispatcher, where WorkerConfig::dispatcher
  // counts.
  DispatcherConfig dispatcher{};
  WorkerConfig worker{};
  // True: a worker of a cluster without a dispatcher serves no data; it only
  // listens, as a task of another job. False: that is an error.
  bool listens_without_dispatcher = false;
  // Functions that expressions may call, of LoadFunctions (expr.h). Null:
  // the built-in functions and the plugins of FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
};

struct ServerOptions {
  ServerTask task{};  // overrides fields of the ServerDef
  ServerConfig config{};
  bool start = true;
};

// One task of a cluster, run by this process. The name of its job decides its
// role: "dispatcher", "worker", "local" (both) or any other name (no service).
// Therefore the same line on each machine starts the whole service.
//
//   auto cluster = ClusterSpec::FromJobs({{"dispatcher", {"d0:5050"}},
//                                         {"worker", {"w0:5051", "w1:5051"}},
//                                         {"ps", {"p0:2222"}}});
//   auto server = Server::Create(
//       *cluster, {.task = {.job_name = "worker", .task_index = 1}});
//   return (*server)->Join();
//
// The server stops when it is destroyed, in any state, also during a Join.
// Thread-safety: every method from any thread, in any state.
// States: new → running → stopped; it may end by itself (Join says why).
// Source: tf.distribute.Server.
class Server {
 public:
  // Errors: see CompleteServerDef; InvalidArgument for a worker whose
  // dispatcher cannot be found; with options.start, see Start.
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const ServerDef& def, ServerOptions options = {});
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const ClusterDef& cluster, ServerOptions options = {});
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const ClusterSpec& cluster, ServerOptions options = {});
  // A cluster of this process alone: job "local", its one task a dispatcher
  // and a worker on a free port of this machine.
  static absl::StatusOr<std::unique_ptr<Server>> CreateLocalServer(
      ServerConfig config = {}, bool start = true);
  ~Server();  // stops
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Binds and serves; OK if it already does. A worker registers in the
  // background. Unavailable if the port is taken or the host is not this
  // machine's, FailedPrecondition after Stop.
  absl::Status Start();
  // Waits until the task serves; a worker serves once it is registered.
  // DeadlineExceeded after `timeout`; after the end, the status of Join;
  // FailedPrecondition before Start.
  absl::Status WaitReady(absl::Duration timeout);
  // Workers drain (see WorkerServer::Drain); tasks of other jobs stop at once.
  // A second call stops at once. Returns without waiting (Join does).
  void Drain(absl::Duration timeout = absl::Seconds(30));
  void Stop();
  // Waits until the server has stopped: OK after Stop or Drain, else why.
  // FailedPrecondition before Start.
  absl::Status Join();

  // Applies a changed cluster: Cluster() then has the new addresses of other
  // tasks. A worker switches to the dispatcher's new address; without a
  // dispatcher in the cluster, it keeps its dispatcher. This task keeps its
  // address; `def` may have another one, but its other fields for this task are
  // absent or as in server_def(). Call it from ClusterWatch's on_change, too.
  // Before Start, it sets the cluster to start with.
  // On an error, nothing changes. InvalidArgument: no cluster, another task,
  // protocol or port, or no place to look for the dispatcher;
  // FailedPrecondition: the server has ended.
  // Source: tensorflow::ServerInterface::UpdateServerDef.
  absl::Status UpdateServerDef(const ServerDef& def);

  // Complete; once started, this task's address has the port that was bound.
  ServerDef server_def() const;
  // The cluster with the ports that its tasks have published so far.
  absl::StatusOr<ClusterSpec> Cluster() const;
  // "tcp://host:port" where others reach it; "" while it is not known.
  std::string target() const;
  // The state of its dispatcher or worker (DispatchServer, WorkerServer).
  // FailedPrecondition if this task has none, or not yet.
  absl::StatusOr<std::string> ExportState() const;
  absl::StatusOr<std::string> ExportVerdict(const std::string& job) const;
  absl::StatusOr<std::string> ExportEvents() const;
  // Requests of an operator, as of DispatchServer.
  absl::Status DrainWorker(const std::string& worker, bool drains);
  absl::Status CancelJob(const std::string& job);
  // Private to the library, as of DispatchServer.
  absl::StatusOr<ExportedRun> ExportRun(const std::string& job) const;
  // Private to the library: the values of its metrics.
  absl::StatusOr<DispatcherSnapshot> ExportSnapshot() const;
  absl::StatusOr<WorkerStatus> ExportWorker() const;

 private:
  class Shell;
  explicit Server(std::shared_ptr<Shell> shell);
  const std::shared_ptr<Shell> shell_;  // joiners hold it, too
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_SERVER_H_
