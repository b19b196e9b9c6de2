#ifndef FEEDMILL_WORKER_WORKER_SERVER_H_
#define FEEDMILL_WORKER_WORKER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/dataset/function_registry.h"
#include "core/net/security.h"
#include "worker/worker_status.h"

namespace feedmill {

struct WorkerConfig {
  // "tcp://host:port" or "host:port". Required.
  std::string dispatcher{};
  // Where to listen for clients: a host name or address of this machine, and a
  // port, 0 for any free one. Loopback unless told otherwise.
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  // With keys, everything is encrypted, the dispatcher must have the key that
  // is expected of it, and only the clients that the folder lists get in.
  // Without, `host` must be loopback, unless `insecure_bind` says that whoever
  // can connect may.
  SecurityConfig security{};
  bool insecure_bind = false;
  // Where clients reach this worker: "host" or "host:port". Default: `host`,
  // or, where that is a wildcard, this machine's address on the way to the
  // dispatcher; and the port that was bound.
  std::string advertise{};
  std::string cluster_id{};
  int threads = 0;                              // 0: AvailableCpus()
  uint64_t memory_bytes = uint64_t{256} << 20;  // computed and not yet sent
  uint64_t frame_bytes = uint64_t{512} << 10;   // a frame's target
  // Largest component of an element, at most 1 GiB, which every link takes. A
  // larger one is an error of its element, for its reader only:
  // ResourceExhausted, which names the step. The steps' work on an element
  // takes at most four times as much, a thread. 0: 1 GiB, or an eighth of the
  // memory that the process may use where that is less. Give it where workers
  // of one service have less memory than others.
  uint64_t element_bytes_max = 0;
  // Of memory that clients of this host and user see, so that it need not be
  // sent to them; used only while there are any. 0: share nothing.
  uint64_t shared_bytes = uint64_t{256} << 20;
  // Give clients of this process what was made as it is.
  bool in_process = true;
  // How long it waits for a dispatcher that does not answer.
  absl::Duration dispatcher_timeout = absl::Hours(1);
  // What expressions may call; null: the built-in functions
  // and those of the plugins in FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
};

// A worker: reads, decodes and batches what the dispatcher leases to it, and
// sends it to clients. A reactor around the pure WorkerAgent, and an Executor
// for everything that takes time.
//
//   WorkerServer worker({.dispatcher = "tcp://10.0.0.1:5050"});
//   FM_RETURN_IF_ERROR(worker.Start());
//   FM_RETURN_IF_ERROR(worker.WaitRegistered(absl::Minutes(1)));
//   return worker.Join();  // until Stop or the end of a Drain
//
// It stops when it is destroyed, also while others wait in Join.
// Thread-safety: every method from any thread, in any state.
// States: new → running → (draining →) stopped.
class WorkerServer {
 public:
  explicit WorkerServer(WorkerConfig config);
  ~WorkerServer();  // stops
  WorkerServer(const WorkerServer&) = delete;
  WorkerServer& operator=(const WorkerServer&) = delete;

  // Binds, and registers in the background: a dispatcher that does not answer
  // is waited for (logged at once and each 10 s). OK if it already runs.
  // InvalidArgument for a bad address, Unavailable if the port is taken,
  // FailedPrecondition after Stop.
  absl::Status Start();
  // Waits until the dispatcher has answered. DeadlineExceeded after `timeout`;
  // FailedPrecondition before Start; after the end, what Join says.
  absl::Status WaitRegistered(absl::Duration timeout);
  bool registered() const;
  // Started, and neither stopped nor ended by itself.
  bool running() const;
  // Takes nothing new, finishes what it has, then stops; at once if nothing
  // depends on it. Returns without waiting (Join does). A second call, or one
  // that is not answered for `timeout`, stops.
  void Drain(absl::Duration timeout = absl::Seconds(30));
  // Ends at once; what it held is computed elsewhere.
  void Stop();
  // Waits until the worker has stopped: OK after Stop or Drain, else why it
  // ended (DeadlineExceeded: no dispatcher for dispatcher_timeout).
  // FailedPrecondition before Start.
  absl::Status Join();

  // "tcp://host:port" as advertised to clients; "" before Start.
  std::string target() const;
  // For metrics. FailedPrecondition unless it runs; DeadlineExceeded if it is
  // too busy to say within `timeout`.
  absl::StatusOr<WorkerStatus> ExportStatus(
      absl::Duration timeout = absl::Seconds(5)) const;

 private:
  class Shell;
  const std::shared_ptr<Shell> shell_;  // joiners hold it, too
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_WORKER_SERVER_H_
