#include "client/trace_collector.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <variant>

#include "absl/time/clock.h"
#include "client/dispatcher_question.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr absl::Duration kAskInterval = absl::Milliseconds(250);
// After a report of 1,000 spans or more, the next is asked for at once.
constexpr size_t kSpansOfMany = 1'000;

uint64_t DrawTraceId() {
  std::random_device device;
  std::uniform_int_distribution<uint64_t> draw(1);
  return draw(device);
}

absl::StatusOr<TraceReport> AskOnce(const TraceWish& wish,
                                    TraceRequest request) {
  std::optional<TraceReport> report;
  bool old = false;
  const absl::Status asked =
      AskDispatcher({.service = wish.service,
                     .cluster_id = wish.cluster_id,
                     .security = wish.security,
                     .role = Role::kOperator,
                     .question = StatusRequest{.trace = std::move(request)},
                     .timeout = wish.timeout},
                    [&](Message& message) {
                      auto* reply = std::get_if<StatusReply>(&message);
                      if (reply == nullptr) return false;
                      old = !reply->trace.has_value();
                      report = std::move(reply->trace);
                      return true;
                    });
  FM_RETURN_IF_ERROR(asked);
  if (old) {
    return FailedPrecondition(
        "the dispatcher at {} cannot trace: it is of an earlier release, or no "
        "dispatcher",
        wish.service);
  }
  FM_RETURN_IF_ERROR(report->status);
  return *std::move(report);
}

void Add(TraceReport report, CollectedTrace& trace) {
  trace.begin = report.begin;
  trace.end = report.end;
  // The answer that took the least time has the smallest difference.
  const absl::Duration to_unix = absl::Now() - report.now;
  trace.to_unix = trace.id == 0 ? to_unix : std::min(trace.to_unix, to_unix);
  trace.id = report.trace;
  trace.spans.insert(trace.spans.end(), report.spans.begin(),
                     report.spans.end());
  trace.processes = std::move(report.processes);
  if (!report.places.empty()) trace.places = std::move(report.places);
  trace.lost = report.lost;
  trace.waits_for = std::move(report.waits_for);
}

}  // namespace

absl::StatusOr<CollectedTrace> CollectTrace(
    const TraceWish& wish, const std::function<bool(absl::Duration)>& pause) {
  TraceRequest request{JobName(wish.job), DrawTraceId(), true, wish.duration,
                       0};
  CollectedTrace trace;
  trace.job = wish.job;
  for (;;) {
    absl::StatusOr<TraceReport> report = AskOnce(wish, request);
    if (!report.ok()) {
      if (request.begin) return report.status();
      trace.incomplete = report.status();
      return trace;
    }
    request.begin = false;
    request.from = report->first + report->spans.size();
    const bool complete = report->complete;
    const bool more = report->spans.size() >= kSpansOfMany;
    Add(*std::move(report), trace);
    if (complete) return trace;
    if (!more && !pause(kAskInterval)) {
      trace.incomplete = Cancelled("the trace was interrupted");
      return trace;
    }
  }
}

}  // namespace feedmill
