#ifndef FEEDMILL_BROKER_LEASE_REACH_H_
#define FEEDMILL_BROKER_LEASE_REACH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

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

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_LEASE_REACH_H_
