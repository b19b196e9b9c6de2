#include "client/pending_rank_reporter.h"

#include "core/base/status.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

constexpr absl::Duration kRankLogInterval = absl::Seconds(10);

}  // namespace

std::string PendingRankReporter::Text(
    uint64_t count, const std::vector<uint64_t>& first) const {
  if (first.empty()) return fmt::format("{} of {} consumers", count, ranks_);
  std::string text = count == 1 ? "consumer " : "consumers ";
  for (size_t k = 0; k < first.size(); ++k) {
    const bool last = k + 1 == first.size() && count <= first.size();
    text += fmt::format("{}{}", k == 0 ? "" : last ? " and " : ", ", first[k]);
  }
  if (count > first.size()) {
    text += fmt::format(" and {} more", count - first.size());
  }
  return text + fmt::format(" of {}", ranks_);
}

void PendingRankReporter::Log(absl::Time now, uint64_t count,
                              const std::vector<uint64_t>& first,
                              Reason reason) {
  if (count == 0 || now < next_log_) return;
  std::string text = Text(count, first);
  if (text == logged_) return;
  LogWarning("consumer {} of job \"{}\" waits for {} to {}", rank_, job_, text,
             reason == Reason::kIteration
                 ? "finish the iteration before its own"
                 : "report their positions: the dispatcher was restarted, or "
                   "consumers continue from tokens, and it then settles how "
                   "many passes the iteration has (processing_mode off)");
  logged_ = std::move(text);
  next_log_ = now + kRankLogInterval;
}

absl::Status PendingRankReporter::TooLong(uint64_t count,
                                          const std::vector<uint64_t>& first,
                                          absl::Duration waited,
                                          Reason reason) const {
  const std::string time =
      absl::FormatDuration(absl::Trunc(waited, absl::Milliseconds(10)));
  if (reason == Reason::kPasses) {
    return DeadlineExceeded(
        "consumer {} of job \"{}\" has waited {} for {} to report their "
        "positions, since the dispatcher was restarted or consumers continue "
        "from tokens. Start them, each from its token if it has one. The "
        "dispatcher waits at most "
        "its client timeout for consumers that have ended. Then start this "
        "consumer again, from its token if it has one",
        rank_, job_, time, Text(count, first));
  }
  return DeadlineExceeded(
      "consumer {} of job \"{}\" has waited {} for {} to finish the iteration "
      "before its own. Start them, each from its token if it has one. To "
      "continue without a consumer that will not return, start this one with "
      "`take_over`: the wait ends when the missing consumer has been silent "
      "for the dispatcher's client timeout. To continue at once, start all "
      "with `take_over` and another number of ranks (`rank`)",
      rank_, job_, time, Text(count, first));
}

}  // namespace feedmill
