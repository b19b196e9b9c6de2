#include "core/wire/span_ring.h"

#include <algorithm>

namespace feedmill {

void SpanRing::Add(const TraceSpan& span) {
  if (spans_.size() >= kSpansMax) {
    spans_.pop_front();
    ++first_;
  }
  spans_.push_back(span);
}

void SpanRing::NoteClock(absl::Time now, const TraceOrder& order) {
  down_ = std::min(down_, std::max(now, order.came) - order.clock);
}

SpanBatch SpanRing::Take(absl::Time now) {
  SpanBatch batch{trace_,
                  first_,
                  now,
                  down_,
                  {spans_.begin(), spans_.end()},
                  absl::InfinitePast()};
  first_ += spans_.size();
  spans_.clear();
  return batch;
}

}  // namespace feedmill
