#ifndef FEEDMILL_WORKER_H_
#define FEEDMILL_WORKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/endpoint.h"

// Private to the library.
namespace feedmill {
class FunctionRegistry;
struct WorkerStatus;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

struct WorkerConfig {
  // "tcp://host:port" or "host:port". Required.
  std::string dispatcher{};
  // The address that it listens on for clients. With keys, the dispatcher must
  // have the key that is expected of it, and clients need one.
  EndpointConfig endpoint{};
  // Threads that compute. 0: as many as the process may use.
  int threads = 0;
  // Bytes of elements that are computed and not yet sent. 0: 64 MiB a thread,
  // but not more than an eighth of the memory that the process may use. It is
  // at least 256 MiB.
  uint64_t memory_bytes = 0;
  // Bytes of elements in a message, roughly.
  uint64_t frame_bytes = uint64_t{512} << 10;
  // Largest component of an element, at most 1 GiB. A larger one ends the
  // reading of its reader with ResourceExhausted, which names the step. A
  // thread needs at most four times as much memory for one element. 0: 1 GiB,
  // or an eighth of the memory that the process may use if that is less. Set it
  // if the workers of a service have different amounts of memory.
  uint64_t element_bytes_max = 0;
  // Bytes of shared memory for clients of this host and user, allocated while
  // there are any. 0: such clients are served over TCP. Absent: as many as
  // memory_bytes.
  std::optional<uint64_t> shared_bytes{};
  // Serve clients of this process by pointer, without a copy.
  bool in_process = true;
  // The worker ends if no dispatcher answers for this long.
  absl::Duration dispatcher_timeout = absl::Hours(1);
  // Functions that expressions may call, of LoadFunctions (expr.h). Null:
  // the built-in functions and the plugins of FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
  // Absolute path of the Python interpreter that runs the Python functions of
  // pipelines, in processes of its own. Empty: the worker refuses such
  // pipelines. Any client may then run any code as this user.
  std::string allow_python{};
  // PYTHONPATH of that interpreter. Empty: as of this process.
  std::string python_path{};
};

// A worker: reads, decodes and batches the splits that the dispatcher leases to
// it, and sends the elements to clients.
//
//   WorkerServer worker({.dispatcher = "tcp://10.0.0.1:5050"});
//   FM_RETURN_IF_ERROR(worker.Start());
//   FM_RETURN_IF_ERROR(worker.WaitRegistered(absl::Minutes(1)));
//   return worker.Join();  // until Stop or the end of a Drain
//
// The destructor stops it, also while other threads wait in Join.
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
  // FailedPrecondition before Start; after the end, the status of Join.
  absl::Status WaitRegistered(absl::Duration timeout);
  bool registered() const;
  // Started, and neither stopped nor ended by itself.
  bool running() const;
  // Other workers take its splits; the last worker finishes its own. Then it
  // stops. Returns without waiting; Join waits. A second call stops it at once,
  // and so does a drain that takes longer than `timeout`.
  void Drain(absl::Duration timeout = absl::Seconds(30));
  // Stops at once. Other workers compute the splits that it had.
  void Stop();
  // Waits until the worker has stopped: OK after Stop or Drain, else why it
  // ended (DeadlineExceeded: no dispatcher for dispatcher_timeout).
  // FailedPrecondition before Start.
  absl::Status Join();

  // "tcp://host:port" as advertised to clients; "" before Start, and before
  // the first connection to the dispatcher if that decides the address.
  std::string target() const;
  // Private to the library: the values of its metrics.
  absl::StatusOr<WorkerStatus> ExportStatus(
      absl::Duration timeout = absl::Seconds(5)) const;

 private:
  class Shell;
  const std::shared_ptr<Shell> shell_;  // joiners hold it, too
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_WORKER_H_
