#ifndef FEEDMILL_CLIENT_BEAT_CLOCK_H_
#define FEEDMILL_CLIENT_BEAT_CLOCK_H_

#include <algorithm>
#include <cstddef>

#include "absl/time/time.h"

namespace feedmill {

// The time of a session's next heartbeat. Changes that are not urgent share
// one. Pure.
class BeatClock {
 public:
  // The interval that the dispatcher asks for.
  void SetInterval(absl::Duration interval) { interval_ = interval; }
  absl::Duration interval() const { return interval_; }

  absl::Time next() const { return next_; }
  void Start(absl::Time now) { next_ = now; }
  void BeatWithin(absl::Time now, absl::Duration delay) {
    next_ = std::min(next_, now + delay);
  }
  // Changes within a millisecond are sent in one heartbeat.
  void BeatSoon(absl::Time now) { BeatWithin(now, absl::Milliseconds(1)); }
  // A split was taken to its end, and `unfinished` ones remain. When a split is
  // reported as taken, its lease ends and the worker gets another. That is
  // urgent only if few unfinished splits remain for each unreported one.
  void NoteTaken(absl::Time now, size_t unfinished) {
    ++unreported_;
    if (unfinished <= kUnfinishedOfEach * unreported_) return BeatSoon(now);
    BeatWithin(now, kCoalesceTaken);
  }
  void NoteBeat(absl::Time now) {
    next_ = now + interval_;
    unreported_ = 0;
  }

 private:
  static constexpr size_t kUnfinishedOfEach = 3;
  static constexpr absl::Duration kCoalesceTaken = absl::Milliseconds(10);

  absl::Duration interval_ = absl::Milliseconds(200);
  absl::Time next_ = absl::InfinitePast();
  size_t unreported_ = 0;  // splits taken since the last heartbeat
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_BEAT_CLOCK_H_
