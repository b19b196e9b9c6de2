#include "core/pipeline/piece_sizer.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr double kPieceSeconds = 0.010;
constexpr uint64_t kGrowth = 4;
constexpr uint64_t kPositionsMax = uint64_t{1} << 24;
constexpr uint64_t kFirstCheap = 1024;

}  // namespace

PieceSizer::PieceSizer(size_t bytes_target, size_t estimated_bytes, bool heavy)
    : bytes_target_(std::max<size_t>(bytes_target, 1)),
      positions_(heavy ? 1 : kFirstCheap) {
  if (estimated_bytes > 0) {
    positions_ =
        std::clamp<uint64_t>(bytes_target_ / estimated_bytes, 1, positions_);
  }
}

void PieceSizer::Observe(uint64_t positions, size_t bytes, double seconds) {
  if (positions == 0) return;
  const double count = static_cast<double>(positions);
  const double by_bytes = bytes == 0 ? static_cast<double>(kPositionsMax)
                                     : static_cast<double>(bytes_target_) *
                                           count / static_cast<double>(bytes);
  const double by_time = seconds <= 0 ? static_cast<double>(kPositionsMax)
                                      : kPieceSeconds * count / seconds;
  const double most = static_cast<double>(
      std::min(std::max(positions, positions_) * kGrowth, kPositionsMax));
  positions_ =
      static_cast<uint64_t>(std::clamp(std::min(by_bytes, by_time), 1.0, most));
}

}  // namespace feedmill
