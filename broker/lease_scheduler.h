#ifndef FEEDMILL_BROKER_LEASE_SCHEDULER_H_
#define FEEDMILL_BROKER_LEASE_SCHEDULER_H_

#include "absl/time/time.h"
#include "broker/committed_state.h"
#include "broker/lease_table.h"
#include "broker/operator_log.h"
#include "broker/peer_clock.h"
#include "broker/reader_table.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Decides when splits are leased: first attempts after a restart's grace, and
// second attempts for heads that do not move. Pure.
class LeaseScheduler {
 public:
  // The references must outlive this object. No lease is given before
  // `lease_from`: after a restart peers report first.
  LeaseScheduler(const DispatcherSettings& settings, const PeerClock& clock,
                 const CommittedState& state, const ReaderTable& readers,
                 LeaseTable& leases, OperatorLog& log, absl::Time lease_from)
      : settings_(settings),
        clock_(clock),
        state_(state),
        readers_(readers),
        leases_(leases),
        log_(log),
        lease_from_(lease_from) {}

  // Leases splits as far as workers have room.
  void Fill(absl::Time now);
  // Starts second attempts for the heads of the readers that are not silent.
  void RetryHeads(absl::Time now);

 private:
  void RetryHead(absl::Time now, const SessionKey& key);
  // Time without progress after which a head is slow.
  absl::Duration SlowAfter() const;

  const DispatcherSettings& settings_;
  const PeerClock& clock_;
  const CommittedState& state_;
  const ReaderTable& readers_;
  LeaseTable& leases_;
  OperatorLog& log_;
  const absl::Time lease_from_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_LEASE_SCHEDULER_H_
