#ifndef FEEDMILL_BROKER_DISPATCH_SERVER_H_
#define FEEDMILL_BROKER_DISPATCH_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "broker/dispatcher.h"
#include "core/dataset/function_registry.h"

namespace feedmill {

struct DispatcherConfig {
  // Where to listen: a host name or address of this machine ("0.0.0.0" for
  // all), and a port, 0 for any free one. Loopback unless told otherwise.
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  // Peers that name another cluster are refused.
  std::string cluster_id{};
  DispatcherSettings settings{};
  // Folder that keeps the state through restarts, made where it is missing;
  // one dispatcher at a time. Empty: the state is in memory.
  std::string work_dir{};
  // What expressions may call; null: the built-in functions.
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

  // "tcp://host:port" with the port that was bound; "" before Start.
  std::string target() const;

 private:
  class Shell;
  const std::unique_ptr<Shell> shell_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DISPATCH_SERVER_H_
