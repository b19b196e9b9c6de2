#ifndef FEEDMILL_BROKER_LEASE_SCHEDULER_H_
#define FEEDMILL_BROKER_LEASE_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Decides how far ahead splits are bound and leased, so that workers have work
// while the journal is synced: a new lease waits for a sync. Pure.
class LeaseReach {
 public:
  // Maximum of Of.
  static constexpr int64_t kMax = 64;

  // Adds the time that an event waited for the disk.
  void Add(absl::Duration delay);
  // The factor by which a worker gets more leases than its slots are worth. 1
  // if events wait for less than `split_time`, the work in a split: this work
  // hides the wait. e.g. delay=1 s, split_time=100 ms → 11. The median of the
  // last three delays counts, so that a single slow sync changes nothing.
  uint64_t Of(absl::Duration split_time) const;

 private:
  std::array<absl::Duration, 3> delays_{};
  size_t next_ = 0;
};

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
