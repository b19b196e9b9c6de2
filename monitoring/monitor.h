#ifndef FEEDMILL_MONITORING_MONITOR_H_
#define FEEDMILL_MONITORING_MONITOR_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "broker/dispatcher_snapshot.h"
#include "monitoring/http_server.h"
#include "monitoring/operator_gate.h"
#include "worker/worker_status.h"

namespace feedmill {

// Where a process's metrics come from. A null function: it has no such service.
struct MonitorSources {
  std::function<absl::StatusOr<DispatcherSnapshot>()> dispatcher{};
  std::function<absl::StatusOr<std::string>()> status{};  // JSON
  // JSON of a job; NotFound if there is none of that name.
  std::function<absl::StatusOr<std::string>(const std::string& job)> verdict{};
  std::function<absl::StatusOr<std::string>()> events{};  // JSON
  // Requests of operators.
  std::function<absl::Status(const std::string& worker, bool drains)> drain{};
  std::function<absl::Status(const std::string& job)> cancel{};
  std::function<absl::StatusOr<WorkerStatus>()> worker{};
};

// Serves /metrics, /healthz and /readyz, and with a dispatcher the page, its
// stream and /api. docs/monitoring.md has what each answers.
class Monitor {
 public:
  // `gate`: who may drain and cancel.
  explicit Monitor(MonitorSources sources, OperatorGate gate = {});

  // `at`: "HOST:PORT", port 0 any free one. InvalidArgument for another text,
  // or for a host beyond this machine unless `open` says that everybody who
  // can connect may read.
  absl::Status Start(const std::string& at, bool open);
  void Stop() { server_.Stop(); }
  const std::string& address() const { return server_.address(); }

 private:
  HttpReply Metrics() const;
  HttpReply Ready() const;
  HttpReply Page() const;
  void ServeDispatcher();
  void ServeOperator();

  const MonitorSources sources_;
  const OperatorGate gate_;
  HttpServer server_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_MONITOR_H_
