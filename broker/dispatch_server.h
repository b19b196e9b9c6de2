#ifndef FEEDMILL_BROKER_DISPATCH_SERVER_H_
#define FEEDMILL_BROKER_DISPATCH_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "broker/dispatcher.h"
#include "core/dataset/function_registry.h"
#include "core/net/security.h"

namespace feedmill {

struct DispatcherConfig {
  // Where to listen: a host name or address of this machine ("0.0.0.0" for
  // all), and a port, 0 for any free one. Loopback unless told otherwise.
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  // Where others reach it: "host" or "host:port". Default: `host`, or, where
  // that is a wildcard, this machine's address on the way out; and the port
  // that was bound.
  std::string advertise{};
  // With keys, everything is encrypted and only the workers, clients and
  // operators that its folder lists get in. Without, `host` must be loopback,
  // unless `insecure_bind` says that whoever can connect may.
  SecurityConfig security{};
  bool insecure_bind = false;
  // Peers that name another cluster are refused.
  std::string cluster_id{};
  DispatcherSettings settings{};
  // Folder that keeps the state through restarts, made where it is missing;
  // one dispatcher at a time. Empty: the state is in memory.
  std::string work_dir{};
  // Refuse to start without a work_dir.
  bool fault_tolerant_mode = false;
  // Of frames that wait to be relayed to clients which reach no worker.
  uint64_t relay_bytes = uint64_t{256} << 20;
  // What expressions may call; null: the built-in functions
  // and those of the plugins in FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
};

// The broker: plans jobs and hands their splits to workers. A reactor thread
// around the pure Dispatcher.
//
//   DispatchServer dispatcher({.port = 5050});
//   FM_RETURN_IF_ERROR(dispatcher.Start());
//   std::puts(dispatcher.target().c_str());  // tcp://127.0.0.1:5050
//   return dispatcher.Join();                // until someone calls Stop
//
// It stops when it is destroyed, also while others wait in Join.
// Thread-safety: every method from any thread, in any state.
// States: new → running → stopped.
class DispatchServer {
 public:
  explicit DispatchServer(DispatcherConfig config);
  ~DispatchServer();  // stops
  DispatchServer(const DispatchServer&) = delete;
  DispatchServer& operator=(const DispatchServer&) = delete;

  // Binds and serves; OK if it already does. InvalidArgument for a bad host,
  // cluster or work-dir, Unavailable if the port is taken or the host is not of
  // this machine, FailedPrecondition after Stop or if another dispatcher has
  // the work-dir, DataLoss if what is in it is damaged.
  absl::Status Start();
  // Ends serving, at once; harmless to repeat or before Start.
  void Stop();
  // Waits until the server has stopped: OK after Stop, else why it ended (the
  // journal could not be written).
  // FailedPrecondition before Start.
  absl::Status Join();

  // Started, and neither stopped nor ended by itself.
  bool running() const;
  // "tcp://host:port" as advertised; "" before Start.
  std::string target() const;
  // What it is doing: {jobs, workers, totals}, the JSON of `feedmill status`.
  // FailedPrecondition unless it runs; DeadlineExceeded if it is too busy to
  // say within `timeout`.
  absl::StatusOr<std::string> ExportState(
      absl::Duration timeout = absl::Seconds(5)) const;
  // What bounds a job now, as JSON (VerdictText); NotFound: there is no such
  // job. Errors as above.
  absl::StatusOr<std::string> ExportVerdict(
      const std::string& job, absl::Duration timeout = absl::Seconds(5)) const;
  // For metrics. Errors as above.
  absl::StatusOr<DispatcherSnapshot> ExportSnapshot(
      absl::Duration timeout = absl::Seconds(5)) const;

 private:
  class Shell;
  const std::shared_ptr<Shell> shell_;  // joiners hold it, too
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCH_SERVER_H_
