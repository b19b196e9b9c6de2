#include "broker/peer_clock.h"

#include <algorithm>
#include <cstdint>

namespace feedmill {

absl::Duration PeerClock::Interval() const {
  const auto peers =
      static_cast<int64_t>(readers_.size() + leases_.workers().size());
  return std::max(settings_.heartbeat_interval,
                  peers * absl::Microseconds(100));
}

absl::Duration PeerClock::AtLeast(absl::Duration least) const {
  return std::max(least, 4 * Interval());
}

absl::Duration PeerClock::WorkerTimeout() const {
  return AtLeast(settings_.worker_timeout);
}

absl::Duration PeerClock::ParkAfter() const {
  return AtLeast(settings_.park_after);
}

// Sharers of a named job have a timeout of their own, because the other sharers
// wait for the splits that a silent one holds.
absl::Duration PeerClock::ClientTimeout(const JobState& job) const {
  const bool shared = job.order == Order::kAny && !job.anonymous();
  return std::max(shared ? settings_.sharer_timeout : settings_.client_timeout,
                  8 * Interval());
}

bool PeerClock::LeaseValid(absl::Time now, const JobState& job,
                           const SessionKey& key) const {
  const auto it = readers_.readers().find(key);
  if (it == readers_.readers().end()) return false;
  return now - it->second.heard <= ClientTimeout(job) / 2;
}

absl::Time PeerClock::NextDeadline() const {
  if (leases_.workers().empty() && readers_.size() == 0) {
    return absl::InfiniteFuture();
  }
  return next_tick_;
}

void PeerClock::NoteMessage(absl::Time now) {
  // Without known peers there were no ticks, so none can be late.
  if (NextDeadline() == absl::InfiniteFuture()) next_tick_ = now;
  NoteStall(now);
}

void PeerClock::NoteTick(absl::Time now) {
  NoteStall(now);
  next_tick_ = now + std::min(absl::Milliseconds(100), Interval() / 2);
}

// Detects that the dispatcher itself stalled, e.g. without a processor.
// Messages that arrived meanwhile are still unread, so no peer counts as silent
// until they are read.
void PeerClock::NoteStall(absl::Time now) {
  const absl::Duration timeout = WorkerTimeout();
  if (now - next_tick_ <= timeout / 2) return;
  heard_from_ = now;
  judge_from_ = now + timeout;
  next_tick_ = now;
}

}  // namespace feedmill
