#ifndef FEEDMILL_CORE_PIPELINE_ROW_PACE_H_
#define FEEDMILL_CORE_PIPELINE_ROW_PACE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace feedmill {

// Chooses how many rows of slow steps run together, from what the last ones
// cost: one at first, then as many as take about 10 ms. So that a piece can end
// soon although rows are slow, and many fast ones share the cost of a call.
// Pure; not thread-safe.
class RowPace {
 public:
  size_t rows() const { return rows_; }

  // Reports that `count` rows took `time`. REQUIRES: count > 0.
  void Observe(size_t count, std::chrono::duration<double> time) {
    const double by_time =
        kTime / std::max(time, kShortest) * static_cast<double>(count);
    const auto most = static_cast<double>(std::max(count, rows_) * kGrowth);
    rows_ = static_cast<size_t>(std::clamp(by_time, 1.0, most));
  }

 private:
  static constexpr std::chrono::duration<double> kTime{0.010};
  static constexpr std::chrono::duration<double> kShortest{1e-9};
  static constexpr size_t kGrowth = 4;

  size_t rows_ = 1;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ROW_PACE_H_
