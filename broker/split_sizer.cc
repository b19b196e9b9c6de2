#include "broker/split_sizer.h"

#include <algorithm>

namespace feedmill {
namespace {

// Each measurement is clamped to this value, so that sums cannot overflow.
constexpr uint64_t kMeasureMax = uint64_t{1} << 56;
// Maximum positions of a split, for any measurement.
constexpr uint64_t kSplitPositionsMax = uint64_t{1} << 40;
// A split is at most 1/kLastParts of the remaining positions of a
// worker slot.
constexpr uint64_t kLastParts = 2;
constexpr uint64_t kFirstParts = 16;  // while no cost is known
constexpr size_t kMaxRememberedCosts = 1'024;

uint64_t Nanoseconds(absl::Duration duration) {
  const int64_t ns = absl::ToInt64Nanoseconds(duration);
  return ns < 0 ? 0 : static_cast<uint64_t>(ns);
}

void Blend(uint64_t& sum, uint64_t value) {
  sum = sum / 4 * 3 + std::min(value, kMeasureMax);
}

// positions * limit / used without overflow.
uint64_t Scale(uint64_t positions, uint64_t limit, uint64_t used) {
  if (used == 0) return kSplitPositionsMax;
  __extension__ using Wide = unsigned __int128;
  const Wide scaled = Wide{positions} * limit / used;
  return scaled > kSplitPositionsMax ? kSplitPositionsMax
                                     : static_cast<uint64_t>(scaled);
}

}  // namespace

void CostEstimate::Add(uint64_t positions, uint64_t bytes,
                       absl::Duration busy) {
  if (positions == 0) return;
  Blend(positions_, positions);
  Blend(bytes_, bytes);
  Blend(busy_ns_, Nanoseconds(busy));
}

uint64_t CostEstimate::PositionsIn(absl::Duration time, uint64_t bytes) const {
  const uint64_t by_time = Scale(positions_, Nanoseconds(time), busy_ns_);
  const uint64_t by_bytes = Scale(positions_, bytes, bytes_);
  return std::max<uint64_t>(1, std::min(by_time, by_bytes));
}

void PastCosts::Keep(const std::string& graph_fingerprint,
                     const CostEstimate& cost) {
  if (!cost.known()) return;
  const auto [past, fresh] = costs_.try_emplace(graph_fingerprint);
  if (!fresh) order_.erase(past->second.kept);
  past->second = {cost, ++kept_};
  order_.emplace(kept_, graph_fingerprint);
  if (costs_.size() <= kMaxRememberedCosts) return;
  costs_.erase(order_.begin()->second);
  order_.erase(order_.begin());
}

CostEstimate PastCosts::Of(const std::string& graph_fingerprint) const {
  const auto past = costs_.find(graph_fingerprint);
  return past == costs_.end() ? CostEstimate() : past->second.cost;
}

uint64_t SplitSizer::Next(const CostEstimate& cost, uint64_t remaining,
                          uint64_t slots) {
  if (cost.known()) {
    const uint64_t wanted =
        cost.PositionsIn(settings_.split_time, settings_.split_bytes);
    size_ = std::min(wanted, size_ * 4);
  }
  // A split of unknown cost must not be a large part of the run.
  const uint64_t parts = cost.known() ? kLastParts : kFirstParts;
  const uint64_t share = remaining / (parts * std::max<uint64_t>(1, slots));
  return std::max<uint64_t>(1, std::min(size_, share));
}

}  // namespace feedmill
