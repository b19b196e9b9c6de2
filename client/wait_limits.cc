#include "client/wait_limits.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

// The reader waits for the dispatcher if it has been silent for this long.
constexpr absl::Duration kDispatcherSilent = absl::Seconds(2);
// Without a first_timeout: wait of the first element for a dispatcher and
// workers.
constexpr absl::Duration kFirstAnswer = absl::Seconds(20);
constexpr absl::Duration kFirstReport = absl::Seconds(2);
constexpr absl::Duration kReportInterval = absl::Seconds(10);

std::string Seconds(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Milliseconds(10)));
}

std::string Advice(const std::string& service) {
  const absl::StatusOr<Address> address = ParseAddress(service);
  return address.ok() ? NoAnswerAdvice(*address) : ErrorText(address.status());
}

std::string ReaderName(const ReadOptions& options) {
  std::string name = options.rank.count > 1
                         ? fmt::format("consumer {} of {}", options.rank.index,
                                       options.rank.count)
                         : "the reader";
  if (!options.job.name.empty())
    name += fmt::format(" of job '{}'", options.job.name);
  return name;
}

}  // namespace

WaitLimits::WaitLimits(std::string service, const ReadOptions& options)
    : service_(std::move(service)),
      first_timeout_(options.limits.first_timeout),
      timeout_(options.limits.timeout),
      pending_ranks_(options.job.name, options.rank.index, options.rank.count),
      reader_(ReaderName(options)),
      on_wait_(options.hooks.on_wait) {}

void WaitLimits::Report(const ServiceLink::View& view, absl::Time begun) {
  pending_ranks_.Log(SteadyNow(), view.awaited, view.awaited_ranks,
                     PendingRankReporter::Why(view.joins));
  const absl::Time now = SteadyNow();
  if (begun != std::exchange(reported_wait_, begun)) {
    next_report_ = begun + kFirstReport;
  }
  if (now < next_report_) return;
  next_report_ = now + kReportInterval;
  const ReadWait wait{WaitsFor(view), now - begun};
  LogWarning("{} has waited {:.0f} s for {}", reader_,
             absl::ToDoubleSeconds(wait.waited), wait.what);
  if (on_wait_) on_wait_(wait);
}

std::string WaitLimits::WaitsFor(const ServiceLink::View& view) const {
  const absl::Duration silent = SteadyNow() - view.last_answer;
  if (!view.answered || silent > kDispatcherSilent) {
    return fmt::format(
        "a dispatcher at {} that answers{}", service_,
        view.handshake.ok() ? "" : "; " + ErrorText(view.handshake));
  }
  if (view.awaited > 0) {
    return pending_ranks_.Text(view.awaited, view.awaited_ranks) +
           (view.joins ? " to finish the iteration before its own"
                       : " to tell how far they are");
  }
  if (view.workers == 0) {
    return fmt::format("a worker: the dispatcher at {} has none", service_);
  }
  if (!view.faults.refused.ok()) return ErrorText(view.faults.refused);
  if (!view.run.has_value()) {
    return "its job to be planned: a worker lists the files";
  }
  if (view.idle) return "the other readers of its job";
  if (!view.faults.unreachable.empty()) {
    return fmt::format("the worker at {}, which cannot be reached from here",
                       view.faults.unreachable);
  }
  return fmt::format("data from {} worker(s); feedmill status --service {}",
                     view.workers, service_);
}

WaitLimits::Patience WaitLimits::PatienceOf(bool had_element) const {
  if (had_element) return {timeout_, timeout_};
  if (first_timeout_.has_value()) return {*first_timeout_, *first_timeout_};
  // The first element may take as long to make as a later element.
  return {kFirstAnswer, std::max(timeout_, kFirstAnswer)};
}

absl::Status WaitLimits::Late(const ServiceLink::View& view, absl::Time begun,
                              bool had_element) const {
  const absl::Time now = SteadyNow();
  const Patience patience = PatienceOf(had_element);
  if (now - std::max(begun, view.last_answer) >= patience.peers) {
    if (!view.answered) {
      return DeadlineExceeded(
          "no dispatcher answered at {} for {}; {}", service_,
          Seconds(patience.peers),
          view.handshake.ok() ? Advice(service_) : ErrorText(view.handshake));
    }
    return DeadlineExceeded(
        "the dispatcher at {} has not answered for {}; is it still running?",
        service_, Seconds(now - view.last_answer));
  }
  if (view.idle) return absl::OkStatus();  // waits for the other readers
  if (view.answered && view.workers == 0 &&
      now - std::max(begun, view.workers_changed) >= patience.peers) {
    return DeadlineExceeded(
        "the dispatcher at {} has had no workers for {}; start one: feedmill "
        "worker --dispatcher {}",
        service_, Seconds(patience.peers), service_);
  }
  return LateData(view, begun, patience);
}

absl::Status WaitLimits::LateData(const ServiceLink::View& view,
                                  absl::Time begun, Patience patience) const {
  const absl::Time now = SteadyNow();
  if (view.awaited > 0 && now - begun >= patience.data) {
    return pending_ranks_.TooLong(view.awaited, view.awaited_ranks, now - begun,
                                  PendingRankReporter::Why(view.joins));
  }
  if (!view.run.has_value()) {
    // Planning is done by workers, and workers are present.
    if (!first_timeout_.has_value() || now - begun < patience.data) {
      return absl::OkStatus();
    }
    return DeadlineExceeded(
        "no data for {}: a worker still lists the files of the job",
        Seconds(now - begun));
  }
  const absl::Time since = std::max(begun, view.progress);
  if (!view.faults.refused.ok() && now - since >= patience.peers) {
    return DeadlineExceeded("no data for {}: {}", Seconds(patience.peers),
                            ErrorText(view.faults.refused));
  }
  if (now - std::max(since, view.faults.unreachable_since) >= patience.peers) {
    return DeadlineExceeded(
        "no data for {}: the worker at {} cannot be reached from here; start "
        "it with --advertise HOST:PORT that this machine can reach",
        Seconds(patience.peers), view.faults.unreachable);
  }
  if (now - since >= patience.data) {
    return DeadlineExceeded(
        "no data for {} although the dispatcher at {} answers and has {} "
        "worker(s); see feedmill status --service {}",
        Seconds(now - since), service_, view.workers, service_);
  }
  return absl::OkStatus();
}

}  // namespace feedmill
