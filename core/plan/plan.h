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

inline constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

// A source record (or block) and the pass in which it is read.
struct RecordRef {
  uint64_t index = 0;  // in the source
  // Combined pass of all repeats, the one nearest to the source fastest.
  uint64_t pass = 0;

  friend bool operator==(const RecordRef&, const RecordRef&) = default;
};

// Records that follow one another in the source, in one pass.
struct RecordRun {
  RecordRef first;
  uint64_t count = 0;
};

// The plan of one iteration: position → source records, computed and never
// stored. Built from the plan steps of an analysed graph, the number of
// positions of its source, the seed and the iteration. Repeats of the client
// stage are in it too (they read the workers' elements again); its other steps
// are not.
//
//   range(5) | shuffle | repeat(2) | batch(4):
//   positions 0 … 2; position 1 holds record 4 of pass 0 and 0 … 2 of pass 1.
//
// Immutable; any thread.
class Plan {
 public:
  // `source_size`: records of a counted source, blocks of an uncounted one,
  // elements of one made of inputs (SourceSize in core/sources/source_plan.h);
  // kEndless if it has no end.
  // `limit`: so many positions, at most, are read of an input in one pass of
  // the whole. An endless repeat has as many passes as that takes.
  // Of a graph with a cache, the plan of what stands after the last one, whose
  // source are the positions before it (SourceSize gives them): the plan of
  // AnalyzedGraph::cached, in iteration 0, has those.
  // InvalidArgument if the plan cannot be: an endless repeat before a step
  // that needs the end, more than 2^63 positions or passes.
  static absl::StatusOr<std::shared_ptr<const Plan>> Make(
      std::shared_ptr<const AnalyzedGraph> graph, uint64_t source_size,
      uint64_t seed, uint64_t iteration, uint64_t limit = kEndless);

  // The plan of the positions of `share` only, which count from 0. All else,
  // keys and counters too, is that of the plan itself. REQUIRES: sound, and
  // this plan is a whole one.
  std::shared_ptr<const Plan> ForShare(Share share) const;
  // Position p of this plan in the whole one.
  uint64_t WholePosition(uint64_t p) const { return share_.At(p); }

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
  // Records of a whole batch of the plan, one before a cache, too; else 1.
  uint64_t batch_size() const { return batch_size_; }
  // The k-th record of position p. REQUIRES: k < RecordsAt(p).
  RecordRef Record(uint64_t p, uint64_t k) const;
  // Appends the records of positions [begin, end) (batches: all their
  // records), faster than one by one. `pass`: of an input, how often it was
  // begun before. REQUIRES: begin <= end <= size().
  void Records(uint64_t begin, uint64_t end, std::vector<RecordRef>& out,
               uint64_t pass = 0) const;
  // The same where they follow one another, as far as they do; of no records
  // where the plan moves them about. REQUIRES: begin < end <= size().
  RecordRun RunAt(uint64_t begin, uint64_t end) const;
  // Where positions are not in the order of the source: how many of them, from
  // a multiple of it on, are best read together. Those of a window of blocks;
  // kEndless where more are always better. 0 where they are in order.
  uint64_t read_together() const;
  // How much of the source is read in one pass, at most; source_size() unless
  // a limit cuts an endless one.
  uint64_t source_needed() const { return source_needed_; }

  // The epoch that step `step` sees for a record of pass `pass`: the combined
  // pass of the repeats that stand after the step, without those before.
  uint64_t EpochOf(size_t step, uint64_t pass) const;
  // How many combined passes there are of all repeats; 0 without end.
  uint64_t passes() const { return passes_before_.back(); }
  // The pass of position p's first record. Its records' passes differ where
  // a batch crosses a repeat; for steps after the batch all give one epoch.
  uint64_t PassAt(uint64_t p) const;

  // The pass that position p's last record is of: how many times the repeats
  // have begun again before it, those of the client stage too. Repeats before a
  // shuffle, which mixes their passes, or before a cache do not count. Never
  // falls as p rises. REQUIRES: p < size().
  //
  //   range(5) | shuffle | repeat(2) | batch(4):  0, 1, 1
  uint64_t ReachedPass(uint64_t p) const;
  // The first position behind p where that is another one; size() if there is
  // none.
  uint64_t ReachedPassEnd(uint64_t p) const;
  // False if it is 0 everywhere.
  bool has_passes() const;

  // Where the record of that counter (CounterOf) stands among what enters step
  // `step`, one of the plan: what `enumerate` counts.
  uint64_t PlaceAt(size_t step, uint64_t counter) const;

  // The key of step `step`'s `ordinal`-th random call in `epoch`.
  RandomKey KeyOf(size_t step, uint64_t epoch, uint64_t ordinal) const;
  // The p of a record's random counter: the position, or b * B + k (modulo
  // 2^64) where the plan batches.
  uint64_t CounterOf(uint64_t p, uint64_t k) const;

  // How many positions the client stage's step `step` sees before its state
  // begins anew: one pass of the nearest repeat that stands after it. Passes of
  // repeats further out begin at multiples of it. 0 if no repeat does.
  uint64_t PassLength(size_t step) const;
  // Of a plan without end: so many positions that twice as many in a row hold
  // all elements that come after them, one pass of its endless repeat or, if
  // the source has no end, `source_round`, the same of that. 0 where it is not
  // known.
  uint64_t Round(uint64_t source_round) const;
  // Whether an enumerate stands where no pass ends, so that it gives no number
  // twice: then no element comes again.
  bool NumbersOn() const;

 private:
  friend class PlanBuilder;

  // One step's index map, from its output back to its input.
  struct Level {
    enum class Kind {
      kShuffle,
      kWindow,  // a shuffle within runs
      kBlocks,  // of whole blocks; the last, shorter one stays
      kMixed,   // … and of those that then stand together
      kRepeat,
      kTake,
      kSkip,
      kShard,
      kBatch,
    };
    Kind kind = Kind::kTake;
    size_t step = 0;      // as written
    uint64_t input = 0;   // positions before it; kEndless
    uint64_t output = 0;  // and after it
    // Of the repeat (kEndless), window, block, skip, shard, batch.
    uint64_t count = 0;
    uint64_t first = 0;  // of the shard
  };
  // Positions [begin, end) of a level's output, in pass `pass` of the repeats
  // that stand after it.
  struct Span {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t pass = 0;
  };

  Plan() = default;
  absl::Status AddSteps();
  void Cut(uint64_t limit);
  Permutation PermutationOf(const Level& level, uint64_t epoch) const;
  static Span InputOf(const Level& level, Span span);
  void Expand(size_t levels, Span span, std::vector<RecordRef>& out) const;
  // A run of the window shuffle and what permutes it.
  struct Run {
    uint64_t begin = 0;
    Permutation permutation;
  };
  Run RunOf(const Level& level, uint64_t epoch, uint64_t p) const;
  // What permutes the blocks of a kBlocks level, and where place p of it comes
  // from.
  Permutation BlocksOf(const Level& level, uint64_t epoch) const;
  static uint64_t InBlocks(const Level& level, const Permutation& blocks,
                           uint64_t p);
  void ExpandShuffle(size_t levels, Span span,
                     std::vector<RecordRef>& out) const;
  void ExpandMixed(size_t levels, Span span, std::vector<RecordRef>& out) const;
  // Appends what these places of the level below come from.
  void ExpandEach(size_t levels, std::span<const uint64_t> from, uint64_t pass,
                  std::vector<RecordRef>& out) const;
  // Where position p (in it, the k-th record of a batch) stands in what the
  // first `levels` levels make; 0: in the source.
  RecordRef Place(uint64_t p, uint64_t k, size_t levels) const;

  std::shared_ptr<const AnalyzedGraph> graph_;
  Share share_;
  uint64_t source_size_ = 0, seed_ = 0, iteration_ = 0, size_ = 0;
  uint64_t source_needed_ = 0;
  std::vector<Level> levels_;  // in the order of the steps
  // Per step (and one at the end): the combined count of the repeats before it;
  // 0 where one of them is endless.
  std::vector<uint64_t> passes_before_;
  size_t counted_from_ = 0;  // the first step whose passes ReachedPass counts
  size_t batch_level_ = 0;   // its index + 1 in levels_; 0: none
  uint64_t batch_size_ = 1;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_PLAN_H_
