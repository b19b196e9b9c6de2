#ifndef FEEDMILL_STATUS_H_
#define FEEDMILL_STATUS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/endpoint.h"

// Reports: the texts of errors, the state of a service, and metrics of the
// readers of this process.

// Private to the library.
namespace feedmill {
class Monitor;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// The message of a status. (The message() of Debian's Abseil is no
// std::string_view.)
inline std::string ErrorText(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

// Returns the state of a service as JSON: jobs, workers and totals (see
// `feedmill status --help`). `security`: an operator's keys, for a service that
// has keys. `all_events`: with all events that the dispatcher keeps, in place
// of the last 50; an earlier dispatcher sends those. DeadlineExceeded if no
// dispatcher answers within `timeout`.
absl::StatusOr<std::string> FetchStatus(const std::string& service,
                                        absl::Duration timeout,
                                        const std::string& cluster_id = "",
                                        const SecurityConfig& security = {},
                                        bool all_events = false);

struct MetricsServerConfig {
  // "HOST:PORT"; port 0 is any free port.
  std::string address = "127.0.0.1:0";
  // Allows an address that other machines can reach. Any process that can
  // connect may then read the names of jobs.
  bool open = false;
};

// Serves the metrics of all readers of this process over HTTP, on threads of
// its own (docs/monitoring.md, Metrics):
//   /metrics   elements, bytes, waits, buffers and reconnects, by job and rank
//   /healthz   200
//   /readyz    200 if every open reader has joined its job, else 503 and why
//
//   auto metrics = feedmill::MetricsServer::Start({.address = "0.0.0.0:9095",
//                                                  .open = true});
//   if (!metrics.ok()) return metrics.status();
//
// Readers cost the same with and without a server. A child of fork does not
// serve.
class MetricsServer {
 public:
  // InvalidArgument if the address has another form, or if other machines can
  // reach it and `open` is false. Unavailable if the port is taken.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const MetricsServerConfig& config = {});
  ~MetricsServer();  // stops
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // "http://host:port".
  const std::string& url() const;

 private:
  explicit MetricsServer(std::unique_ptr<Monitor> monitor);

  const std::unique_ptr<Monitor> monitor_;
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_STATUS_H_
