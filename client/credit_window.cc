#include "client/credit_window.h"

#include <algorithm>

#include "core/base/check.h"

namespace feedmill {
namespace {

constexpr uint64_t kFirstQuotas = 2;  // quotas in the first window
// Minimum number of frames in one split's quota: the worker computes one while
// another is on its way.
constexpr uint64_t kQuotaFrames = 2;
// Window size in multiples of the bytes that arrive in one round trip.
constexpr double kRoundTrips = 4;
// With more round trips than this on their way, the window is not the
// bottleneck.
constexpr double kWideRoundTrips = 2;
constexpr absl::Duration kMeasureMax = absl::Seconds(1);
// Safety factor for a split's need, because positions differ.
constexpr double kSplitMargin = 1.5;
// Limits the measured past.
constexpr uint64_t kCamePositions = uint64_t{1} << 16;
// A round trip shorter than kNear is mostly waiting for a core, which credit
// does not shorten. There a wider window is kept only if the rate rises by
// kWorthIt, measured for at least kMeasureLeast; otherwise it is tried again
// after kTryAgain.
constexpr absl::Duration kNear = absl::Milliseconds(5);
constexpr double kWorthIt = 1.25;
constexpr absl::Duration kMeasureLeast = absl::Milliseconds(20);
constexpr absl::Duration kTryAgain = absl::Seconds(1);

}  // namespace

CreditWindow::CreditWindow(uint64_t budget_bytes, uint64_t quota_bytes)
    : budget_bytes_(budget_bytes),
      reserve_bytes_(std::min(quota_bytes, budget_bytes / 4)),
      quota_bytes_(std::min(quota_bytes, budget_bytes)) {
  FM_CHECK(budget_bytes > 0 && quota_bytes > 0);
  Set(kFirstQuotas * quota_bytes_);
}

uint64_t CreditWindow::quarter_bytes() const {
  return std::max<uint64_t>(1, ahead_bytes_ / 4);
}

// The minimum is two quotas, so that two splits can follow each other without a
// pause.
void CreditWindow::Set(uint64_t bytes) {
  window_bytes_ = std::clamp(bytes, std::min(2 * quota_bytes_, budget_bytes_),
                             budget_bytes_);
  ahead_bytes_ = std::max(window_bytes_ / 2, quota_bytes_);
  received_ = drained_ = 0;
  narrower_.reset();
  unused_ = buffered_bytes_;
  measured_from_ = absl::InfinitePast();
}

void CreditWindow::Receive(absl::Time now, uint64_t positions, uint64_t bytes) {
  const uint64_t quota = std::min(kQuotaFrames * bytes, budget_bytes_ / 4);
  if (quota > quota_bytes_) {
    quota_bytes_ = quota;
    Set(window_bytes_);
  }
  if (measured_from_ == absl::InfinitePast()) measured_from_ = now;
  received_ += bytes;
  NoteReceived(positions, bytes);
}

void CreditWindow::ReceiveFrame(absl::Time now, const WorkerId& worker,
                                uint64_t wire_bytes, uint64_t bytes) {
  arrivals_.Arrive(now, worker, wire_bytes, bytes);
}

void CreditWindow::NoteReceived(uint64_t positions, uint64_t bytes) {
  positions_came_ += positions;
  bytes_came_ += bytes;
  if (positions_came_ < kCamePositions) return;
  positions_came_ /= 2;
  bytes_came_ /= 2;
}

void CreditWindow::Drain(uint64_t bytes) {
  buffered_bytes_ -= bytes;
  outstanding_bytes_ -= bytes;
  freed_bytes_ += bytes;
  drained_ += bytes;
  Narrow();
}

void CreditWindow::Forget(uint64_t buffered, uint64_t credit) {
  buffered_bytes_ -= buffered;
  outstanding_bytes_ -= credit;
}

// Halves the window if half of it was never needed while a whole window passed:
// elements only left the caches in the buffer.
void CreditWindow::Narrow() {
  unused_ = std::min(unused_, buffered_bytes_);
  if (drained_ < window_bytes_) return;
  if (unused_ >= window_bytes_ / 2) {
    Set(window_bytes_ / 2);
  } else {
    drained_ = 0;
    unused_ = buffered_bytes_;
  }
}

// More credit helps only if few windows arrive per round trip. Otherwise
// elements would just wait in queues until they have left the caches. (Results
// of a slow worker wait at the worker.)
void CreditWindow::Wait(absl::Time now) {
  unused_ = 0;
  arrivals_.Wait(now);
  if (received_ < window_bytes_ || now < widen_from_) return;
  const absl::Duration took = now - measured_from_;
  const bool near = round_trip_ < kNear;
  if (took < (near ? kMeasureLeast : round_trip_)) return;
  const double rate =
      static_cast<double>(received_) / absl::ToDoubleSeconds(took);
  if (WiderIsNoFaster(now, rate)) return;
  if (kRoundTrips * rate * absl::ToDoubleSeconds(round_trip_) >=
      static_cast<double>(window_bytes_)) {
    const Narrower before{window_bytes_, rate};
    Set(2 * window_bytes_);
    if (near && window_bytes_ > before.bytes) narrower_ = before;
  } else if (took > kMeasureMax) {
    received_ = 0;
    measured_from_ = now;
  }
}

// Narrows the window again if widening did not raise the rate: the measured
// round trip was too long, or a core is the bottleneck.
bool CreditWindow::WiderIsNoFaster(absl::Time now, double rate) {
  if (!narrower_.has_value()) return false;
  const Narrower before = *narrower_;
  narrower_.reset();
  if (rate >= kWorthIt * before.rate) return false;
  Set(before.bytes);
  widen_from_ = now + kTryAgain;
  return true;
}

// A part of the window is reserved for the head. Otherwise splits behind it
// could leave it with one frame per round trip. The head has its part also when
// the window was narrowed below what others use.
uint64_t CreditWindow::Free(bool is_head, uint64_t has,
                            std::optional<uint64_t> head_has) const {
  uint64_t taken = outstanding_bytes_;
  if (head_has && *head_has < reserve_bytes_) {
    taken += reserve_bytes_ - *head_has;
  }
  const uint64_t free = window_bytes_ - std::min(window_bytes_, taken);
  if (!is_head) return free;
  const uint64_t left = budget_bytes_ - std::min(budget_bytes_, taken);
  return std::max(
      free, std::min(left, reserve_bytes_ - std::min(reserve_bytes_, has)));
}

uint64_t CreditWindow::MayNeed(uint64_t positions) const {
  if (positions_came_ == 0) return ahead_bytes_;
  const double bytes =
      kSplitMargin * static_cast<double>(std::max<uint64_t>(1, positions)) *
      static_cast<double>(bytes_came_) / static_cast<double>(positions_came_);
  // One frame of usual size always fits.
  return std::max(quota_bytes_ / kQuotaFrames,
                  bytes < static_cast<double>(ahead_bytes_)
                      ? static_cast<uint64_t>(bytes)
                      : ahead_bytes_);
}

uint64_t CreditWindow::Arriving(const WorkerId& worker) const {
  const double in_round_trip =
      arrivals_.elements() * absl::ToDoubleSeconds(round_trip_);
  const bool wide =
      window_bytes_ >= budget_bytes_ ||
      kWideRoundTrips * in_round_trip <= static_cast<double>(window_bytes_);
  return wide ? static_cast<uint64_t>(arrivals_.From(worker)) : 0;
}

}  // namespace feedmill
