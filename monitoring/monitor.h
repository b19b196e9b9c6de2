#ifndef FEEDMILL_MONITORING_MONITOR_H_
#define FEEDMILL_MONITORING_MONITOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "broker/dispatcher_snapshot.h"
#include "client/reader_roster.h"
#include "monitoring/http_server.h"
#include "monitoring/operator_gate.h"
#include "worker/worker_status.h"

namespace feedmill {

// Sources of a process's metrics. A null function: the process has no such
// service.
struct MonitorSources {
  std::function<absl::StatusOr<DispatcherSnapshot>()> dispatcher{};
  std::function<absl::StatusOr<std::string>()> status{};  // JSON
  // Returns the verdict on a job as JSON. NotFound if no job has that name.
  std::function<absl::StatusOr<std::string>(const std::string& job)> verdict{};
  std::function<absl::StatusOr<std::string>()> events{};  // JSON
  // Operator requests that change something.
  std::function<absl::Status(const std::string& worker, bool drains)> drain{};
  std::function<absl::Status(const std::string& job)> cancel{};
  // Returns a batch of a job as JSON (tools/command/batch_sample.h). It shows
  // data.
  std::function<absl::StatusOr<std::string>(const std::string& job,
                                            uint64_t batch)>
      sample{};
  // True while a dispatcher that was started as a standby waits to lead. The
  // functions above return errors then.
  std::function<bool()> standby{};
  std::function<absl::StatusOr<WorkerStatus>()> worker{};
  std::function<std::vector<ReaderTotals>()> readers{};
};

// Serves /metrics, /healthz and /readyz. With a dispatcher it also serves the
// status page, the page's stream and /api. docs/monitoring.md describes each
// answer.
class Monitor {
 public:
  // `gate` decides which requests may drain a worker or cancel a job.
  explicit Monitor(MonitorSources sources, OperatorGate gate = {});

  // `at`: "HOST:PORT"; port 0 is any free port. InvalidArgument if `at` has
  // another form, or if other machines can reach the host and `open` is false.
  // `open` lets every client that can connect read the metrics.
  absl::Status Start(const std::string& at, bool open);
  void Stop() { server_.Stop(); }
  const std::string& address() const { return server_.address(); }
  const HttpRoutes& routes() const { return server_.routes(); }

 private:
  HttpReply Metrics() const;
  HttpReply Ready() const;
  void ServeDispatcher();
  void ServeOperator();

  const MonitorSources sources_;
  const OperatorGate gate_;
  HttpServer server_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_MONITOR_H_
