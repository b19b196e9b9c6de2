#ifndef FEEDMILL_CORE_PLAN_PLAN_H_
#define FEEDMILL_CORE_PLAN_PLAN_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/analysis.h"
#include "core/plan/permutation.h"

namespace feedmill {

inline constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

// A source record (or block) and the pass in which it is read.
struct RecordRef {
  uint64_t index = 0;  // in the source
  uint64_t pass = 0;   // combined pass of all enclosing repeats
};

// The plan of one iteration: position → source records, computed and never
// stored. Built from the plan steps of an analysed graph, the number of
// positions of its source, the seed and the iteration.
//
// Immutable; any thread.
class Plan {
 public:
  // `source_size`: records of a counted source, blocks of an uncounted one.
  // InvalidArgument if the plan cannot be: an endless repeat before a step
  // that needs the end, more than 2^63 positions.
  static absl::StatusOr<std::shared_ptr<const Plan>> Make(
      std::shared_ptr<const AnalyzedGraph> graph, uint64_t source_size,
      uint64_t seed, uint64_t iteration);

  // Number of positions; kEndless for an endless repeat. An endless repeat of
  // nothing has none.
  uint64_t size() const { return size_; }
  uint64_t source_size() const { return source_size_; }
  uint64_t seed() const { return seed_; }
  uint64_t iteration() const { return iteration_; }
  const AnalyzedGraph& graph() const { return *graph_; }

  // Records a position holds: 1, or up to the batch size where the plan
  // batches. REQUIRES: p < size().
  uint64_t RecordsAt(uint64_t p) const;
  // The k-th record of position p. REQUIRES: k < RecordsAt(p).
  RecordRef Record(uint64_t p, uint64_t k) const;
  // Appends the first records of positions [begin, end) (batches: all their
  // records), faster than one by one.
  void Records(uint64_t begin, uint64_t end,
               std::vector<RecordRef>& out) const;

  // The epoch that step `step` sees for a record of pass `pass`: the pass of
  // the repeats that enclose the step (stand after it), not of those before.
  uint64_t EpochOf(size_t step, uint64_t pass) const;
  // The same for a position (any record of it).
  uint64_t PassAt(uint64_t p) const;

  // The key of step `step`'s `ordinal`-th random call in `epoch`.
  RandomKey KeyOf(size_t step, uint64_t epoch, uint64_t ordinal) const;
  // The p of a record's random counter: the position, or b * B + k.
  uint64_t CounterOf(uint64_t p, uint64_t k) const;

  // Positions of one pass of the outermost repeat that encloses the client
  // stage's step `step`, i.e. where its state begins anew; 0 if none does.
  uint64_t PassLength(size_t step) const;

 private:
  Plan() = default;
  // (private members belong to plan.cc's author)
  std::shared_ptr<const AnalyzedGraph> graph_;
  uint64_t source_size_ = 0, seed_ = 0, iteration_ = 0, size_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PLAN_H_
