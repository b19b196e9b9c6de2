#include "monitoring/monitor.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/status.h"
#include "core/net/address.h"
#include "monitoring/metrics.h"
#include "monitoring/page_bytes.h"

namespace feedmill {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

HttpReply JsonReply(const absl::StatusOr<std::string>& json) {
  if (json.ok()) return {200, "application/json", *json + "\n", {}};
  const int status = absl::IsNotFound(json.status()) ? 404 : 503;
  return {.status = status, .body = ErrorText(json.status()) + "\n"};
}

HttpReply Unready(const std::string& why) {
  return {.status = 503, .body = why + "\n"};
}

using Fields = nlohmann::json;

// Returns the string field `name`; "" unless `fields` is an object with it.
std::string TextField(const Fields& fields, const char* name) {
  if (!fields.is_object() || !fields.contains(name)) return "";
  const Fields& field = fields[name];
  return field.is_string() ? field.get<std::string>() : "";
}

HttpReply BadRequest(const std::string& example) {
  return {.status = 400, .body = "the body must be like " + example + "\n"};
}

HttpReply ActionReply(const absl::Status& done) {
  if (done.ok()) {
    return {200, "application/json", "{\"done\":true}\n", {}};
  }
  int status = 503;
  if (absl::IsNotFound(done)) status = 404;
  if (absl::IsFailedPrecondition(done)) status = 409;
  if (absl::IsInvalidArgument(done)) status = 422;
  return {.status = status, .body = ErrorText(done) + "\n"};
}

HttpReply PageReply(bool with_gzip) {
  HttpReply reply{200,
                  "text/html; charset=utf-8",
                  with_gzip ? std::string(PageGzip()) : PageText(),
                  {{"Vary", "Accept-Encoding"},
                   {"Content-Security-Policy", std::string(PagePolicy())},
                   {"Cross-Origin-Opener-Policy", "same-origin"},
                   {"Referrer-Policy", "no-referrer"}}};
  if (with_gzip) reply.headers.emplace_back("Content-Encoding", "gzip");
  return reply;
}

}  // namespace

Monitor::Monitor(MonitorSources sources, OperatorGate gate)
    : sources_(std::move(sources)), gate_(std::move(gate)) {
  server_.Get("/metrics", [this](const ServedRequest&) { return Metrics(); });
  server_.Constant("/healthz", {.body = "ok\n"});
  server_.Probe("/readyz", [this](const ServedRequest&) { return Ready(); });
  if (sources_.status) ServeDispatcher();
  if (sources_.drain && sources_.cancel) ServeOperator();
}

void Monitor::ServeDispatcher() {
  server_.Get("/", [](const ServedRequest& request) {
    return PageReply(request.accepts_gzip());
  });
  server_.Get("/api/status", [this](const ServedRequest&) {
    return JsonReply(sources_.status());
  });
  server_.Stream("/api/stream", sources_.status);
  if (sources_.verdict) {
    server_.Get("/api/jobs/*/verdict", [this](const ServedRequest& request) {
      return JsonReply(sources_.verdict(request.argument));
    });
  }
  if (sources_.events) {
    server_.Get("/api/events", [this](const ServedRequest&) {
      return JsonReply(sources_.events());
    });
  }
}

void Monitor::ServeOperator() {
  server_.Get("/api/operator", [this](const ServedRequest&) {
    return JsonReply(std::string(gate_.has_token() ? R"({"actions":true})"
                                                   : R"({"actions":false})"));
  });
  // Checks the operator's token and changes nothing.
  server_.Post("/api/operator", [this](const ServedRequest& request) {
    return gate_.Refuse(request).value_or(ActionReply(absl::OkStatus()));
  });
  server_.Post("/api/workers/drain", [this](const ServedRequest& request) {
    if (auto refused = gate_.Refuse(request)) return *std::move(refused);
    const Fields fields = Fields::parse(request.body, nullptr, false);
    const std::string worker = TextField(fields, "worker");
    if (worker.empty() || !fields.contains("drain") ||
        !fields["drain"].is_boolean()) {
      return BadRequest(R"({"worker": "tcp://HOST:PORT", "drain": true})");
    }
    return ActionReply(sources_.drain(worker, fields["drain"].get<bool>()));
  });
  server_.Post("/api/jobs/cancel", [this](const ServedRequest& request) {
    if (auto refused = gate_.Refuse(request)) return *std::move(refused);
    const std::string job =
        TextField(Fields::parse(request.body, nullptr, false), "job");
    if (job.empty()) return BadRequest(R"({"job": "NAME"})");
    return ActionReply(sources_.cancel(job));
  });
  if (!sources_.sample) return;
  server_.Post("/api/jobs/sample", [this](const ServedRequest& request) {
    if (auto refused = gate_.Refuse(request)) return *std::move(refused);
    const Fields fields = Fields::parse(request.body, nullptr, false);
    const std::string job = TextField(fields, "job");
    if (job.empty() || !fields.contains("batch") ||
        !fields["batch"].is_number_unsigned()) {
      return BadRequest(R"({"job": "NAME", "batch": 0})");
    }
    const auto sample = sources_.sample(job, fields["batch"].get<uint64_t>());
    return sample.ok() ? JsonReply(sample) : ActionReply(sample.status());
  });
}

absl::Status Monitor::Start(const std::string& at, bool open) {
  const size_t colon = at.rfind(':');
  absl::StatusOr<Address> address = InvalidArgument("no port");
  // ParseAddress refuses port 0, which means any free port here.
  const bool any_port = colon != at.npos && at.substr(colon) == ":0";
  if (colon != at.npos && colon > 0) {
    address = ParseAddress(any_port ? at.substr(0, colon) + ":1" : at);
  }
  if (!address.ok()) {
    return InvalidArgument("'{}' is no HOST:PORT; 127.0.0.1:9090, say", at);
  }
  FM_ASSIGN_OR_RETURN(const std::string numeric, ResolveHost(address->host));
  if (!IsLoopback(numeric) && !open) {
    return InvalidArgument(
        "at {} any process that reaches this machine could read metrics, and "
        "the "
        "names of jobs and files; give a loopback address, or, on a network "
        "that you trust, allow it (--http-open; `open` of a MetricsServer)",
        address->host);
  }
  return server_.Start(address->host, any_port ? 0 : address->port);
}

HttpReply Monitor::Metrics() const {
  MetricList metrics;
  const bool waits = sources_.standby && sources_.standby();
  if (sources_.standby) {
    metrics.Gauge("feedmill_dispatcher_standby",
                  "1 while a dispatcher with --standby waits to lead, then 0",
                  waits ? 1 : 0);
  }
  if (sources_.dispatcher && !waits) {
    const auto snapshot = sources_.dispatcher();
    if (!snapshot.ok()) return Unready(ErrorText(snapshot.status()));
    AddDispatcherMetrics(*snapshot, metrics);
  }
  if (sources_.worker) {
    const auto status = sources_.worker();
    if (!status.ok()) return Unready(ErrorText(status.status()));
    AddWorkerMetrics(*status, metrics);
  }
  if (sources_.readers) AddReaderMetrics(sources_.readers(), metrics);
  AddProcessMetrics(metrics);
  return {200, kMetricsType, metrics.Text(), {}};
}

// Ready: a dispatcher that serves, a worker that is registered and does not
// drain, or readers that have joined their jobs.
HttpReply Monitor::Ready() const {
  if (sources_.standby && sources_.standby()) {
    return Unready("a standby: it waits for another dispatcher to end");
  }
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
  if (sources_.readers) {
    for (const ReaderTotals& reader : sources_.readers()) {
      if (reader.joined == reader.open) continue;
      return Unready(reader.job.empty()
                         ? std::string("a reader has not joined its job yet")
                         : fmt::format("rank {} of job '{}' has not joined yet",
                                       reader.rank, reader.job));
    }
  }
  return {.body = "ready\n"};
}

}  // namespace feedmill
