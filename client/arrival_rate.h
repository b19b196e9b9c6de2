#ifndef FEEDMILL_CLIENT_ARRIVAL_RATE_H_
#define FEEDMILL_CLIENT_ARRIVAL_RATE_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// Measures how fast frames arrive from workers while the reader does little but
// wait for them. This is the capacity of a link, provided that the worker has
// more data for it. (The sender's kernel cannot tell: a proxy in between may
// accept whole windows at once.)
//
// Pure. Thread: one.
class ArrivalRate {
 public:
  // The application found no element and waits.
  void Wait(absl::Time now);
  // `sent`: bytes as received, of a frame with `elements` bytes of elements.
  void Arrive(absl::Time now, const WorkerId& worker, uint64_t sent,
              uint64_t elements);

  // Bytes per second from a worker; 0: unknown, or the reader did not wait.
  double From(const WorkerId& worker) const;
  // Element bytes per second from all workers.
  double elements() const { return elements_; }

 private:
  void Settle(absl::Duration took);

  std::map<WorkerId, double> rates_;
  double elements_ = 0;

  // Measured since the last Settle:
  absl::Time from_ = absl::InfinitePast();
  absl::Time waits_since_ = absl::InfiniteFuture();
  absl::Duration waited_;
  std::map<WorkerId, uint64_t> came_;
  uint64_t elements_came_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_ARRIVAL_RATE_H_
