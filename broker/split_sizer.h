#ifndef FEEDMILL_BROKER_SPLIT_SIZER_H_
#define FEEDMILL_BROKER_SPLIT_SIZER_H_

#include <cstdint>
#include <map>
#include <string>

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

// What the positions of graphs cost when they were read last, so that a later
// run begins with splits of the right size. The last 1,024 that were kept.
class PastCosts {
 public:
  void Keep(const std::string& graph_fingerprint, const CostEstimate& cost);
  // Not known() where nothing is kept.
  CostEstimate Of(const std::string& graph_fingerprint) const;

 private:
  struct Past {
    CostEstimate cost;
    uint64_t kept = 0;  // the how manieth
  };
  std::map<std::string, Past> costs_;
  std::map<uint64_t, std::string> order_;
  uint64_t kept_ = 0;
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
