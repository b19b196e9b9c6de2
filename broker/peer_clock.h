#ifndef FEEDMILL_BROKER_PEER_CLOCK_H_
#define FEEDMILL_BROKER_PEER_CLOCK_H_

#include "absl/time/time.h"
#include "broker/dispatcher_state.h"
#include "broker/lease_table.h"
#include "broker/reader_table.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Heartbeat interval and timeouts of peers, which grow with the number of
// peers, and the stalls of the dispatcher itself. Pure.
class PeerClock {
 public:
  // The references must outlive this object.
  PeerClock(const DispatcherSettings& settings, const LeaseTable& leases,
            const ReaderTable& readers, absl::Time now)
      : settings_(settings),
        leases_(leases),
        readers_(readers),
        started_(now),
        next_tick_(now) {}

  absl::Duration Interval() const;
  absl::Duration WorkerTimeout() const;
  // A reader that is silent for longer gets no further splits.
  absl::Duration ParkAfter() const;
  absl::Duration ClientTimeout(const JobState& job) const;
  // True if the session's reader was heard within its lease.
  bool LeaseValid(absl::Time now, const JobState& job,
                  const SessionKey& key) const;

  // Start of this life of the dispatcher.
  absl::Time started() const { return started_; }
  // Time of the next necessary tick; InfiniteFuture without peers.
  absl::Time NextDeadline() const;
  // Call at each message and at each tick, before anything else.
  void NoteMessage(absl::Time now);
  void NoteTick(absl::Time now);
  // End of the last stall. A peer that was last heard before it may have sent
  // messages that are still unread.
  absl::Time heard_from() const { return heard_from_; }
  // True if a peer that was not heard since the last stall may be judged dead.
  bool MayJudge(absl::Time now) const { return now >= judge_from_; }
  absl::Time judge_from() const { return judge_from_; }

 private:
  absl::Duration AtLeast(absl::Duration least) const;
  void NoteStall(absl::Time now);

  const DispatcherSettings& settings_;
  const LeaseTable& leases_;
  const ReaderTable& readers_;
  const absl::Time started_;
  absl::Time next_tick_;
  absl::Time heard_from_ = absl::InfinitePast();
  absl::Time judge_from_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PEER_CLOCK_H_
