#include "worker/cost_model.h"

#include <algorithm>

namespace feedmill {
namespace {

// Target duration of a task: long enough to be worth a thread switch, short
// enough to be fair.
constexpr uint64_t kTaskNanoseconds = 10'000'000;
constexpr uint64_t kGrowth = 4;
// Measurements are halved beyond this limit, so that recent ones count more.
constexpr uint64_t kMeasuredNanoseconds = 1'000'000'000;
constexpr uint64_t kMeasuredPositions = uint64_t{1} << 20;
constexpr uint64_t kCheapBytesPerNanosecond = 1;
constexpr uint64_t kCheapFrames = 2;
constexpr uint64_t kCheapLargeFrames = 4;

}  // namespace

void CostModel::Add(uint64_t positions, uint64_t bytes, absl::Duration busy) {
  positions_ += positions;
  bytes_ += bytes;
  busy_ns_ += static_cast<uint64_t>(
      std::max<int64_t>(0, absl::ToInt64Nanoseconds(busy)));
  positions_max_ = std::max(positions_max_,
                            std::min(positions, kMeasuredPositions) * kGrowth);
  while (busy_ns_ > kMeasuredNanoseconds || positions_ > kMeasuredPositions) {
    if (positions_ < 2) break;
    positions_ /= 2;
    bytes_ /= 2;
    busy_ns_ /= 2;
  }
}

bool CostModel::cheap() const {
  return busy_ns_ > 0 && bytes_ > kCheapBytesPerNanosecond * busy_ns_;
}

double CostModel::NanosecondsFor(uint64_t positions) const {
  if (positions_ == 0) return 0;
  return static_cast<double>(busy_ns_) / static_cast<double>(positions_) *
         static_cast<double>(positions);
}

uint64_t CostModel::FrameBytes(const FrameSizes& sizes) const {
  if (!cheap()) return sizes.frame_bytes;
  const bool large =
      positions_ > 0 && bytes_ / positions_ >= sizes.frame_bytes / 2;
  const uint64_t least = kCheapFrames * sizes.frame_bytes;
  const uint64_t most = kCheapLargeFrames * sizes.frame_bytes;
  if (!large) return least;
  return sizes.in_place ? most : std::clamp(sizes.cache_bytes, least, most);
}

uint64_t CostModel::PositionsIn(uint64_t frame_bytes) const {
  if (positions_ == 0) return 1;
  const uint64_t by_bytes =
      frame_bytes * positions_ / std::max<uint64_t>(1, bytes_);
  const uint64_t by_time =
      kTaskNanoseconds * positions_ / std::max<uint64_t>(1, busy_ns_);
  return std::clamp<uint64_t>(std::min(by_bytes, by_time), 1, positions_max_);
}

uint64_t CostModel::BytesOf(uint64_t positions, uint64_t frame_bytes) const {
  if (positions_ == 0) return frame_bytes;
  const uint64_t one = bytes_ / positions_ + 1;
  if (positions >= frame_bytes / one + 1) return frame_bytes + one;
  return positions * one;
}

}  // namespace feedmill
