#include <algorithm>
#include <iterator>
#include <string>

#include "core/base/status.h"
#include "tests/sim/world.h"

// A tool that traces jobs. Tracing must not disturb any guarantee; the spans
// must fit the workers' true clocks.

namespace feedmill::sim {
namespace {

constexpr absl::Duration kTraceEvery = absl::Milliseconds(60);

}  // namespace

void World::AskForTrace() {
  if (!replica_.jobs.empty() && (trace_.trace == 0 || tracer_->OneIn(150))) {
    auto job = replica_.jobs.begin();
    std::advance(job, tracer_->Between(0, replica_.jobs.size() - 1));
    trace_ = {job->first, ++traces_, true,
              absl::Milliseconds(tracer_->Between(50, 3'000)), 0};
    ++result_.totals["traces asked for"];
  }
  if (trace_.trace != 0) {
    StatusRequest request;
    request.trace = trace_;
    network_->Send(kTracer, kDispatcher, Message(std::move(request)));
  }
  timeline_.After(tracer_->UpTo(kTraceEvery), [this] { AskForTrace(); });
}

void World::TakeTrace(const TraceReport& report) {
  if (!report.status.ok()) {
    ++result_.totals["traces refused"];
    trace_ = {};
    return;
  }
  if (report.trace != trace_.trace) return;  // late
  trace_.begin = false;
  result_.totals["spans"] += report.spans.size();
  trace_.from =
      std::max<uint64_t>(trace_.from, report.first + report.spans.size());
  CheckClocks(report);
  if (report.complete) {
    ++result_.totals["traces complete"];
    trace_ = {};
  }
}

void World::CheckClocks(const TraceReport& report) {
  for (const TraceSpan& span : report.spans) {
    if (span.process >= report.processes.size() || span.end < span.begin) {
      return Fail("a span is of no process, or ends before it begins");
    }
  }
  for (const TracedProcess& process : report.processes) {
    if (!process.name.starts_with("worker ")) continue;
    const auto worker = workers_.find(process.name.substr(7));
    if (worker == workers_.end()) continue;
    if (process.uncertainty == absl::InfiniteDuration()) continue;
    ++result_.totals["clocks compared"];
    const absl::Duration offset = dispatcher_skew_ - worker->second.skew;
    if (absl::AbsDuration(process.offset - offset) >
        process.uncertainty + absl::Nanoseconds(1)) {
      Fail(fmt::format("{} is off by {}, and was taken for {}, +-{}",
                       process.name, absl::FormatDuration(offset),
                       absl::FormatDuration(process.offset),
                       absl::FormatDuration(process.uncertainty)));
    }
  }
}

}  // namespace feedmill::sim
