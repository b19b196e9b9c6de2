#ifndef FEEDMILL_BROKER_SPLIT_SIZER_H_
#define FEEDMILL_BROKER_SPLIT_SIZER_H_

#include <cstdint>

#include "absl/time/time.h"

namespace feedmill {

// What a plan's positions cost lately, from the workers' measurements.
class CostEstimate {
 public:
  // Older measurements weigh less with each new one.
  void Add(uint64_t positions, uint64_t bytes, absl::Duration busy);

  bool known() const { return positions_ > 0; }
  // Positions that take `time` of one thread and make up to `bytes`: at least
  // 1. REQUIRES: known().
  uint64_t PositionsIn(absl::Duration time, uint64_t bytes) const;

 private:
  uint64_t positions_ = 0;
  uint64_t bytes_ = 0;
  uint64_t busy_ns_ = 0;
};

// How many positions the next split of a run gets. Boundaries of splits are
// scheduling only; they never change what is delivered.
class SplitSizer {
 public:
  struct Settings {
    absl::Duration split_time;
    uint64_t split_bytes = 0;
  };

  // `first`: positions of a split while nothing is measured.
  SplitSizer(Settings settings, uint64_t first)
      : settings_(settings), size_(first < 1 ? 1 : first) {}

  // The size for the next split of `remaining` unbound positions on `slots`
  // lease slots: grows to at most four times the last one, shrinks at once,
  // and near the end, or before a cost is known, so that every slot gets work.
  // At least 1.
  uint64_t Next(const CostEstimate& cost, uint64_t remaining, uint64_t slots);

 private:
  Settings settings_;
  uint64_t size_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_SPLIT_SIZER_H_
