#ifndef FEEDMILL_BROKER_SPLIT_SIZER_H_
#define FEEDMILL_BROKER_SPLIT_SIZER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace feedmill {

// Estimates the cost of a plan's positions from the workers' measurements.
class CostEstimate {
 public:
  // Older measurements weigh less with each new one.
  void Add(uint64_t positions, uint64_t bytes, absl::Duration busy);

  bool known() const { return positions_ > 0; }
  // Number of positions that take at most `time` of one thread and make at most
  // `bytes`, but at least 1. REQUIRES: known().
  uint64_t PositionsIn(absl::Duration time, uint64_t bytes) const;

 private:
  uint64_t positions_ = 0;
  uint64_t bytes_ = 0;
  uint64_t busy_ns_ = 0;
};

// Keeps the cost of the positions of graphs that were read before, so that a
// later run begins with splits of the right size. Holds the 1,024 graphs that
// were kept last.
class PastCosts {
 public:
  void Keep(const std::string& graph_fingerprint, const CostEstimate& cost);
  // The result is not known() for a graph that is not kept.
  CostEstimate Of(const std::string& graph_fingerprint) const;

 private:
  struct Past {
    CostEstimate cost;
    uint64_t kept = 0;  // ordinal of the Keep call
  };
  std::map<std::string, Past> costs_;
  std::map<uint64_t, std::string> order_;
  uint64_t kept_ = 0;
};

// Chooses the number of positions of a run's next split. Split boundaries
// affect scheduling only; they never change the delivered elements.
class SplitSizer {
 public:
  struct Settings {
    absl::Duration split_time;
    uint64_t split_bytes = 0;
  };

  // `first`: positions of a split while nothing is measured.
  SplitSizer(Settings settings, uint64_t first)
      : settings_(settings), size_(first < 1 ? 1 : first) {}

  // Returns the size of the next split, for `remaining` unbound positions and
  // `slots` lease slots. At least 1. The size grows to at most four times the
  // last size per call, and shrinks without a limit. Near the end, and while no
  // cost is known, the size is smaller so that every slot gets work.
  uint64_t Next(const CostEstimate& cost, uint64_t remaining, uint64_t slots);

 private:
  Settings settings_;
  uint64_t size_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_SPLIT_SIZER_H_
