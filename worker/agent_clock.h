#ifndef FEEDMILL_WORKER_AGENT_CLOCK_H_
#define FEEDMILL_WORKER_AGENT_CLOCK_H_

#include <algorithm>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// Times of a worker's heartbeats, and the timeouts that the dispatcher sets.
// Pure.
class AgentClock {
 public:
  // `interval`: of heartbeats, until the dispatcher sets it.
  explicit AgentClock(absl::Duration interval) : interval_(interval) {}

  void TakeAnswer(absl::Time now, const WorkerAnswer& answer) {
    if (answer.heartbeat_interval > absl::ZeroDuration()) {
      interval_ = answer.heartbeat_interval;
      BeatWithin(now, interval_);
    }
    if (answer.park_after > absl::ZeroDuration()) {
      park_after_ = answer.park_after;
    }
  }
  absl::Duration interval() const { return interval_; }
  // A stream without a grant for longer is parked.
  absl::Duration park_after() const { return park_after_; }

  absl::Time next_beat() const { return next_beat_; }
  void NoteBeat(absl::Time now) { next_beat_ = now + interval_; }
  void BeatWithin(absl::Time now, absl::Duration delay) {
    next_beat_ = std::min(next_beat_, now + delay);
  }
  // Changes within a millisecond are sent in one heartbeat.
  void BeatSoon(absl::Time now) { BeatWithin(now, absl::Milliseconds(1)); }

 private:
  absl::Duration interval_;
  absl::Duration park_after_ = absl::Seconds(1);
  absl::Time next_beat_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_AGENT_CLOCK_H_
