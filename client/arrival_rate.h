#ifndef FEEDMILL_CLIENT_ARRIVAL_RATE_H_
#define FEEDMILL_CLIENT_ARRIVAL_RATE_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// How fast frames come from workers while a reader does little but wait for
// them: what a link carries, where the worker has more for it. (What a
// worker's kernel tells of its own connection is another thing where something
// in between, such as a proxy, takes whole windows at once.)
//
// Pure. Thread: one.
class ArrivalRate {
 public:
  // The application found nothing.
  void Wait(absl::Time now);
  // `sent`: bytes as they came, of a frame with so many bytes of elements.
  void Arrive(absl::Time now, const WorkerId& worker, uint64_t sent,
              uint64_t elements);

  // Bytes a second; 0: not known, or the reader had other things to do.
  double From(const WorkerId& worker) const;
  // … of elements, from all workers.
  double elements() const { return elements_; }

 private:
  void Settle(absl::Duration took);

  std::map<WorkerId, double> rates_;
  double elements_ = 0;

  // Since then:
  absl::Time from_ = absl::InfinitePast();
  absl::Time waits_since_ = absl::InfiniteFuture();
  absl::Duration waited_;
  std::map<WorkerId, uint64_t> came_;
  uint64_t elements_came_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_ARRIVAL_RATE_H_
