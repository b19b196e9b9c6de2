#ifndef FEEDMILL_BROKER_LEASE_SCHEDULER_H_
#define FEEDMILL_BROKER_LEASE_SCHEDULER_H_

#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Decides when splits are leased: first attempts after a restart's grace, and
// second attempts for heads that do not move. Pure.
class LeaseScheduler {
 public:
  // The references must outlive this object. No lease is given before
  // `lease_from`: after a restart peers report first.
  LeaseScheduler(DispatcherContext& context, absl::Time lease_from)
      : context_(context), lease_from_(lease_from) {}

  // Leases splits as far as workers have room.
  void Fill(absl::Time now);
  // Starts second attempts for the heads of the readers that are not silent.
  void RetryHeads(absl::Time now);

 private:
  void RetryHead(absl::Time now, const SessionKey& key);
  // Time without progress after which a head is slow.
  absl::Duration SlowAfter() const;

  DispatcherContext& context_;
  const absl::Time lease_from_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_LEASE_SCHEDULER_H_
