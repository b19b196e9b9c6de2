#include "core/net/split_log.h"

#include <variant>

#include "core/base/status.h"
#include "core/net/security.h"

namespace feedmill {
namespace {

// The worker's address, without its key.
std::string NameOf(const WorkerId& worker) {
  return SplitKey(worker.value()).address;
}

std::string RangeText(Cursor begin, Cursor end) {
  return fmt::format("positions {} to {}", begin.p, end.p);
}

}  // namespace

void SplitLog::LogNew(LogLevel level, const SplitId& split,
                      const std::string& text) {
  if (!LogEnabled(level)) return;
  if (lines_.size() >= kLinesMax) {
    lines_.clear();
    workers_.clear();
  }
  if (lines_.emplace(split, text).second) LogSplit(level, split.number, text);
}

void SplitLog::Leased(const std::string& way, const WorkerAnswer& answer) {
  for (const Lease& lease : answer.leases) {
    LogNew(LogLevel::kDebug, lease.split,
           fmt::format("{}, attempt {}, {}, for reader {}", way,
                       lease.attempt.value(), RangeText(lease.begin, lease.end),
                       lease.session.consumer.value()));
  }
}

void SplitLog::Failed(const std::string& where, const WorkerBeat& beat) {
  for (const LeaseFailure& failure : beat.failures) {
    LogNew(LogLevel::kWarning, failure.split,
           fmt::format("attempt {} failed{}: {}", failure.attempt.value(),
                       where, ErrorText(failure.status)));
  }
}

void SplitLog::Bound(const std::string& way, const ClientAnswer& answer) {
  for (const BoundSplit& bound : answer.splits) {
    LogNew(LogLevel::kDebug, bound.split,
           fmt::format("{}, {}", way, RangeText(bound.begin, bound.end)));
  }
}

// All of it arrived.
void SplitLog::Reported(const std::string& way, const ClientBeat& beat) {
  for (const SplitReport& report : beat.splits) {
    LogNew(LogLevel::kDebug, report.split,
           fmt::format("{} up to position {}", way, report.taken.p));
  }
}

void SplitLog::Data(const std::string& way, const Frame& frame) {
  LogNew(LogLevel::kDebug, frame.split,
         fmt::format("attempt {}: {} elements {}, {}", frame.attempt.value(),
                     frame.piece.chunk.rows, way,
                     RangeText(frame.piece.begin, frame.piece.end)));
}

void SplitLog::Sent(std::string_view to, const Message& message) {
  if (const auto* beat = std::get_if<WorkerBeat>(&message)) {
    return Failed("", *beat);
  }
  if (!LogEnabled(LogLevel::kDebug)) return;
  if (const auto* leased = std::get_if<WorkerAnswer>(&message)) {
    Leased("leased to worker " + workers_[std::string(to)], *leased);
  } else if (const auto* bound = std::get_if<ClientAnswer>(&message)) {
    Bound("bound to reader " + bound->session.consumer.value(), *bound);
  } else if (const auto* report = std::get_if<ClientBeat>(&message)) {
    Reported("has arrived", *report);
  } else if (const auto* frame = std::get_if<Frame>(&message)) {
    Data("are sent to reader " + frame->session.consumer.value(), *frame);
  }
}

void SplitLog::Received(std::string_view from, const Message& message) {
  if (const auto* beat = std::get_if<WorkerBeat>(&message)) {
    const std::string worker = NameOf(beat->worker);
    if (LogEnabled(LogLevel::kDebug)) workers_[std::string(from)] = worker;
    return Failed(" on worker " + worker, *beat);
  }
  if (!LogEnabled(LogLevel::kDebug)) return;
  if (const auto* leased = std::get_if<WorkerAnswer>(&message)) {
    Leased("leased to this worker", *leased);
  } else if (const auto* bound = std::get_if<ClientAnswer>(&message)) {
    Bound("bound to this reader", *bound);
  } else if (const auto* report = std::get_if<ClientBeat>(&message)) {
    Reported("has arrived at reader " + report->session.consumer.value(),
             *report);
  } else if (const auto* frame = std::get_if<Frame>(&message)) {
    Data("came from worker " + NameOf(frame->worker), *frame);
  }
}

}  // namespace feedmill
