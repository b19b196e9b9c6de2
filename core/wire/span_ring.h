#ifndef FEEDMILL_CORE_WIRE_SPAN_RING_H_
#define FEEDMILL_CORE_WIRE_SPAN_RING_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// Waits that are shorter are not recorded: of cheap pieces there are many.
inline constexpr absl::Duration kShortestWait = absl::Microseconds(20);

// The spans that a process recorded for one trace and has not sent. Bounded: a
// full ring drops its oldest span. Numbers count dropped spans, so that the
// receiver knows how many are missing.
//
// Thread: one.
class SpanRing {
 public:
  static constexpr size_t kSpansMax = 8'192;

  explicit SpanRing(uint64_t trace) : trace_(trace) {}

  uint64_t trace() const { return trace_; }
  void Add(const TraceSpan& span);
  // True if the spans should be sent soon, as the ring is half full.
  bool half_full() const { return spans_.size() >= kSpansMax / 2; }
  // Notes that an order of the dispatcher came. `now`: if the order does not
  // say when it came.
  void NoteClock(absl::Time now, const TraceOrder& order);
  // Takes all spans. The batch may be empty: its clocks are of use, too.
  SpanBatch Take(absl::Time now);

 private:
  const uint64_t trace_;
  std::deque<TraceSpan> spans_;
  uint64_t first_ = 0;  // number of spans_.front()
  absl::Duration down_ = absl::InfiniteDuration();
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_SPAN_RING_H_
