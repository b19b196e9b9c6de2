#include "monitoring/monitor.h"

#include <utility>

#include "core/base/status.h"
#include "core/net/address.h"
#include "monitoring/metrics.h"

namespace feedmill {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

HttpReply JsonReply(const absl::StatusOr<std::string>& json) {
  if (json.ok()) return {200, "application/json", *json + "\n"};
  const int status = absl::IsNotFound(json.status()) ? 404 : 503;
  return {status, "text/plain; charset=utf-8", ErrorText(json.status()) + "\n"};
}

HttpReply Unready(const std::string& why) { return {503, {}, why + "\n"}; }

}  // namespace

Monitor::Monitor(MonitorSources sources) : sources_(std::move(sources)) {
  server_.Get("/metrics", [this](const std::string&) { return Metrics(); });
  server_.Get("/healthz",
              [](const std::string&) { return HttpReply{.body = "ok\n"}; });
  server_.Get("/readyz", [this](const std::string&) { return Ready(); });
  if (sources_.status) {
    server_.Get("/api/status", [this](const std::string&) {
      return JsonReply(sources_.status());
    });
  }
  if (sources_.verdict) {
    server_.Get("/api/jobs/(.+)/verdict", [this](const std::string& job) {
      return JsonReply(sources_.verdict(job));
    });
  }
}

absl::Status Monitor::Start(const std::string& at, bool open) {
  const size_t colon = at.rfind(':');
  absl::StatusOr<Address> address = InvalidArgument("no port");
  // Address has no port 0, which is any free one here.
  const bool any_port = colon != at.npos && at.substr(colon) == ":0";
  if (colon != at.npos && colon > 0) {
    address = ParseAddress(any_port ? at.substr(0, colon) + ":1" : at);
  }
  if (!address.ok()) {
    return InvalidArgument("--http: '{}' is no HOST:PORT; 127.0.0.1:9090, say",
                           at);
  }
  FM_ASSIGN_OR_RETURN(const std::string numeric, ResolveHost(address->host));
  if (!IsLoopback(numeric) && !open) {
    return InvalidArgument(
        "--http: at {} everybody who reaches this machine could read metrics, "
        "and the names of jobs and files; give a loopback address, or "
        "--http-open on a network that you trust",
        address->host);
  }
  return server_.Start(address->host, any_port ? 0 : address->port);
}

HttpReply Monitor::Metrics() const {
  MetricList metrics;
  if (sources_.dispatcher) {
    const auto snapshot = sources_.dispatcher();
    if (!snapshot.ok()) return Unready(ErrorText(snapshot.status()));
    AddDispatcherMetrics(*snapshot, metrics);
  }
  if (sources_.worker) {
    const auto status = sources_.worker();
    if (!status.ok()) return Unready(ErrorText(status.status()));
    AddWorkerMetrics(*status, metrics);
  }
  AddProcessMetrics(metrics);
  return {200, kMetricsType, metrics.Text()};
}

// A dispatcher that serves, a worker that is registered and does not drain.
HttpReply Monitor::Ready() const {
  if (sources_.dispatcher) {
    const auto snapshot = sources_.dispatcher();
    if (!snapshot.ok()) return Unready(ErrorText(snapshot.status()));
  }
  if (sources_.worker) {
    const auto status = sources_.worker();
    if (!status.ok()) return Unready(ErrorText(status.status()));
    if (!status->registered) {
      return Unready("the worker waits for its dispatcher at " +
                     status->dispatcher);
    }
    if (status->draining) return Unready("the worker drains");
  }
  return {.body = "ready\n"};
}

}  // namespace feedmill
