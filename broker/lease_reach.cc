#include "broker/lease_reach.h"

#include <algorithm>

namespace feedmill {

void LeaseReach::Add(absl::Duration delay) {
  delays_[next_] = delay;
  next_ = (next_ + 1) % delays_.size();
}

uint64_t LeaseReach::Of(absl::Duration split_time) const {
  auto delays = delays_;
  std::sort(delays.begin(), delays.end());
  absl::Duration rest;
  const int64_t splits =
      absl::IDivDuration(delays[delays.size() / 2], split_time, &rest);
  return static_cast<uint64_t>(std::clamp<int64_t>(splits + 1, 1, kMax));
}

}  // namespace feedmill
