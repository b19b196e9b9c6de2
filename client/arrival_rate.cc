#include "client/arrival_rate.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr absl::Duration kMeasure = absl::Milliseconds(100);
// The application must wait for at least this fraction of the measurement.
constexpr double kMinWaitFraction = 0.8;

}  // namespace

void ArrivalRate::Wait(absl::Time now) {
  waits_since_ = std::min(waits_since_, now);
}

void ArrivalRate::Arrive(absl::Time now, const WorkerId& worker, uint64_t sent,
                         uint64_t elements) {
  if (waits_since_ < now) waited_ += now - std::max(waits_since_, from_);
  waits_since_ = absl::InfiniteFuture();
  // data began to arrive before the measurement
  if (from_ == absl::InfinitePast()) {
    waited_ = absl::ZeroDuration();
    from_ = now;
    return;
  }
  came_[worker] += sent;
  elements_came_ += elements;
  if (now - from_ < kMeasure) return;
  Settle(now - from_);
  from_ = now;
}

void ArrivalRate::Settle(absl::Duration took) {
  rates_.clear();
  elements_ = 0;
  if (waited_ >= kMinWaitFraction * took) {
    const double seconds = absl::ToDoubleSeconds(took);
    for (const auto& [worker, bytes] : came_) {
      rates_[worker] = static_cast<double>(bytes) / seconds;
    }
    elements_ = static_cast<double>(elements_came_) / seconds;
  }
  came_.clear();
  elements_came_ = 0;
  waited_ = absl::ZeroDuration();
}

double ArrivalRate::From(const WorkerId& worker) const {
  const auto found = rates_.find(worker);
  return found == rates_.end() ? 0 : found->second;
}

}  // namespace feedmill
