#ifndef FEEDMILL_CLIENT_PENDING_RANK_REPORTER_H_
#define FEEDMILL_CLIENT_PENDING_RANK_REPORTER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace feedmill {

// Reports, on stderr and in errors, which ranks a rank waits for.
class PendingRankReporter {
 public:
  // kIteration: the ranks have not finished the previous iteration. kPasses: a
  // dispatcher that was restarted, or whose readers continue a run that it does
  // not know, has not heard of the ranks; they may know how many passes the
  // iteration has (processing_mode off).
  enum class Reason { kIteration, kPasses };
  // `joins`: the dispatcher's last answer had no run.
  static Reason Why(bool joins) {
    return joins ? Reason::kIteration : Reason::kPasses;
  }

  PendingRankReporter(std::string job, uint64_t rank, uint64_t ranks)
      : job_(std::move(job)), rank_(rank), ranks_(ranks) {}

  // Reports on stderr that the reader waits for `count` ranks, of which `first`
  // lists the first few. Reported at once, and after a change at most every 10
  // s.
  void Log(absl::Time now, uint64_t count, const std::vector<uint64_t>& first,
           Reason reason = Reason::kIteration);

  // Error for a wait that has lasted too long.
  absl::Status TooLong(uint64_t count, const std::vector<uint64_t>& first,
                       absl::Duration waited,
                       Reason reason = Reason::kIteration) const;

  // "consumers 1, 2 and 5 of 8".
  std::string Text(uint64_t count, const std::vector<uint64_t>& first) const;

 private:
  const std::string job_;
  const uint64_t rank_;
  const uint64_t ranks_;
  std::string logged_;
  absl::Time next_log_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_PENDING_RANK_REPORTER_H_
