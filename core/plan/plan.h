#ifndef FEEDMILL_CORE_PLAN_PLAN_H_
#define FEEDMILL_CORE_PLAN_PLAN_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/share.h"
#include "core/dataset/analysis.h"
#include "core/plan/permutation.h"

namespace feedmill {

class PlanBuilder;
class WeightedChoice;  // weighted_choice.h

inline constexpr uint64_t kInfinite = std::numeric_limits<uint64_t>::max();

// A source record (or block) and the pass in which it is read.
struct RecordRef {
  uint64_t index = 0;  // in the source
  // Combined pass of all repeats; the repeat nearest to the source counts
  // fastest.
  uint64_t pass = 0;

  friend bool operator==(const RecordRef&, const RecordRef&) = default;
};

// Consecutive records of the source, all in one pass.
struct RecordRun {
  RecordRef first;
  uint64_t count = 0;
};

// The plan of one iteration: the function position → source records. It is
// computed, never stored. It follows from the plan steps of an analysed graph,
// the number of positions of its source, the seed and the iteration. Of the
// steps of the client stage, it contains only the repeats, because they read
// the workers' elements again.
//
//   range(5) | shuffle | repeat(2) | batch(4):
//   positions 0 … 2; position 1 holds record 4 of pass 0 and 0 … 2 of pass 1.
//
// Immutable; any thread.
class Plan {
 public:
  // Makes the plan of `graph`.
  // `source_size`: records of a counted source, blocks of an uncounted one, or
  // elements of a combining source (SourceSize in core/sources/source_plan.h);
  // kInfinite if the source is infinite.
  // `limit`: most positions that one pass of the enclosing source reads of this
  // input. An infinite repeat has as many passes as `limit` takes.
  // If the graph has a cache, the plan covers the steps after the last cache.
  // Its source is the positions before the cache (SourceSize returns their
  // number). The plan of AnalyzedGraph::cached in iteration 0 has these
  // positions.
  // InvalidArgument if there can be no plan: an infinite repeat stands before a
  // step that needs the end, or there are more than 2^63 positions or passes.
  static absl::StatusOr<std::shared_ptr<const Plan>> Make(
      std::shared_ptr<const AnalyzedGraph> graph, uint64_t source_size,
      uint64_t seed, uint64_t iteration, uint64_t limit = kInfinite);

  // Returns the plan of the positions of `share` only, numbered from 0.
  // Everything else, including random keys and counters, is as in this plan.
  // REQUIRES: share.sound(), and this plan has no share itself.
  std::shared_ptr<const Plan> ForShare(Share share) const;
  // Returns the position in the whole plan of position p of this plan.
  uint64_t WholePosition(uint64_t p) const { return share_.At(p); }

  // Number of positions; kInfinite for an infinite repeat, but 0 if it repeats
  // nothing.
  uint64_t size() const { return size_; }
  uint64_t source_size() const { return source_size_; }
  uint64_t seed() const { return seed_; }
  uint64_t iteration() const { return iteration_; }
  const AnalyzedGraph& graph() const { return *graph_; }

  // Number of records of position p: 1, or up to the batch size if the plan
  // batches. REQUIRES: p < size().
  uint64_t RecordsAt(uint64_t p) const;
  // Number of records of a full batch of the plan, also of one before a cache;
  // 1 without batches.
  uint64_t batch_size() const { return batch_size_; }
  // Returns the k-th record of position p. REQUIRES: k < RecordsAt(p).
  RecordRef Record(uint64_t p, uint64_t k) const;
  // Appends the records of positions [begin, end), all records of each batch.
  // Faster than Record() in a loop. `pass`: for an input, number of earlier
  // passes. REQUIRES: begin <= end <= size().
  void Records(uint64_t begin, uint64_t end, std::vector<RecordRef>& out,
               uint64_t pass = 0) const;
  // Returns the longest run of consecutive source records that positions
  // [begin, end) begin with. The run is empty if the plan reorders records
  // there. REQUIRES: begin < end <= size().
  RecordRun RunAt(uint64_t begin, uint64_t end) const;
  // Number of positions, aligned to a multiple of it, that are best read
  // together if positions do not follow the order of the source: the
  // positions of a window of blocks. kInfinite if more is always better; 0 if
  // positions follow the order of the source.
  uint64_t read_together() const;
  // Most records of the source that one pass reads: source_size(), unless a
  // limit cuts an infinite source.
  uint64_t source_needed() const { return source_needed_; }

  // Returns the epoch that step `step` sees for a record of pass `pass`: the
  // combined pass of the repeats after the step, without the repeats before it.
  uint64_t EpochOf(size_t step, uint64_t pass) const;
  // Number of combined passes of all repeats; 0 if infinite.
  uint64_t passes() const { return passes_before_.back(); }
  // Returns the pass of position p's first record. If a batch crosses a repeat,
  // its records have different passes; for steps after the batch, all of them
  // give one epoch.
  uint64_t PassAt(uint64_t p) const;

  // Returns the pass of position p's last record: how many times repeats,
  // including repeats of the client stage, have begun again before it. Repeats
  // before a shuffle, which mixes their passes, or before a cache do not count.
  // Never decreases as p grows. REQUIRES: p < size().
  //
  //   range(5) | shuffle | repeat(2) | batch(4):  0, 1, 1
  uint64_t ReachedPass(uint64_t p) const;
  // Returns the first position after p with another ReachedPass; size() if
  // there is none.
  uint64_t ReachedPassEnd(uint64_t p) const;
  // False if ReachedPass is 0 for every position.
  bool has_passes() const;

  // Returns the index, among the inputs of plan step `step`, of the record with
  // this counter (CounterOf). `enumerate` writes this number.
  uint64_t PlaceAt(size_t step, uint64_t counter) const;

  // Returns the key of the `ordinal`-th random call of step `step` in `epoch`.
  RandomKey KeyOf(size_t step, uint64_t epoch, uint64_t ordinal) const;
  // Returns the counter p of a record's random numbers: the position, or b * B
  // + k (modulo 2^64) if the plan batches.
  uint64_t CounterOf(uint64_t p, uint64_t k) const;

  // Returns how many positions step `step` of the client stage sees before its
  // state is reset: one pass of the nearest repeat after it. Passes of outer
  // repeats begin at multiples of this number. Returns 0 if no repeat follows.
  uint64_t PassLength(size_t step) const;
  // For an infinite plan, returns a period R: any 2R consecutive positions
  // contain every element that still occurs later. R is one pass of the
  // infinite repeat or, if the source is infinite, `source_round`, the period
  // of the source. Returns 0 if unknown.
  uint64_t Round(uint64_t source_round) const;
  // True if an enumerate counts without ever starting again. Then no element
  // occurs twice.
  bool NumbersOn() const;

 private:
  friend class PlanBuilder;

  // The index map of one step, from its output back to its input.
  struct Level {
    enum class Kind {
      kShuffle,
      kWindow,  // a shuffle within runs
      kBlocks,  // shuffles whole blocks; the last, shorter one stays
      kMixed,   // then shuffles within windows of these blocks
      kRepeat,
      kTake,
      kSkip,
      kShard,
      kSubset,
      kWeighted,  // a shuffle of the chosen elements follows
      kBatch,
    };
    Kind kind = Kind::kTake;
    size_t step = 0;      // index as written
    uint64_t input = 0;   // positions before the step; may be kInfinite
    uint64_t output = 0;  // positions after the step
    // Count of the repeat (kInfinite: infinite), or size of the window, block,
    // skip, shard or batch.
    uint64_t count = 0;
    uint64_t first = 0;  // first position of the shard
    std::shared_ptr<const WeightedChoice> choice{};  // of kWeighted
  };
  // Positions [begin, end) of a level's output, in pass `pass` of the repeats
  // after the level.
  struct Span {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t pass = 0;
  };

  Plan() = default;
  absl::Status AddSteps();
  void Cut(uint64_t limit);
  Permutation PermutationOf(const Level& level, uint64_t epoch) const;
  // Returns the input positions of a kSubset level.
  const std::vector<int64_t>& IndicesOf(const Level& level) const;
  // Returns the input position of position p of a kWeighted level.
  uint64_t ChosenAt(const Level& level, uint64_t epoch, uint64_t p) const;
  static Span InputOf(const Level& level, Span span);
  void Expand(size_t levels, Span span, std::vector<RecordRef>& out) const;
  // A run of the window shuffle and its permutation.
  struct Run {
    uint64_t begin = 0;
    Permutation permutation;
  };
  Run RunOf(const Level& level, uint64_t epoch, uint64_t p) const;
  // BlocksOf returns the permutation of the blocks of a kBlocks level; InBlocks
  // returns the input position of the level's position p.
  Permutation BlocksOf(const Level& level, uint64_t epoch) const;
  static uint64_t InBlocks(const Level& level, const Permutation& blocks,
                           uint64_t p);
  void ExpandShuffle(size_t levels, Span span,
                     std::vector<RecordRef>& out) const;
  void ExpandMixed(size_t levels, Span span, std::vector<RecordRef>& out) const;
  // Appends the records of these positions of the level below.
  void ExpandEach(size_t levels, std::span<const uint64_t> from, uint64_t pass,
                  std::vector<RecordRef>& out) const;
  // Returns the position, in the output of the first `levels` levels, of the
  // k-th record of position p. With 0 levels, this is the record in the source.
  RecordRef Place(uint64_t p, uint64_t k, size_t levels) const;

  std::shared_ptr<const AnalyzedGraph> graph_;
  Share share_;
  uint64_t source_size_ = 0, seed_ = 0, iteration_ = 0, size_ = 0;
  uint64_t source_needed_ = 0;
  std::vector<Level> levels_;  // in the order of the steps
  // Per step, and once for the end: the combined count of the repeats before
  // it; 0 if one of them is infinite.
  std::vector<uint64_t> passes_before_;
  size_t counted_from_ = 0;  // the first step whose passes ReachedPass counts
  size_t batch_level_ = 0;   // index + 1 of the batch in levels_; 0: none
  uint64_t batch_size_ = 1;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PLAN_H_
