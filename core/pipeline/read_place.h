#ifndef FEEDMILL_CORE_PIPELINE_READ_PLACE_H_
#define FEEDMILL_CORE_PIPELINE_READ_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/chunk/cursor.h"
#include "core/chunk/generator_state.h"
#include "core/chunk/share.h"
#include "feedmill/element.h"

namespace feedmill {

// The state of a client stage between two pieces.
struct StageState {
  struct Held {  // rows that wait for more rows
    Chunk chunk;
    std::vector<Cursor> counters;  // one per row, or none
    std::vector<uint64_t> passes;
  };
  struct RowRef {  // row `row` of held[block]
    uint32_t block = 0;
    uint32_t row = 0;
  };
  struct Step {
    uint64_t left = 0;  // rows to take or to skip in this pass
    uint64_t made = 0;  // the step's count of batches, records or random calls
    std::vector<std::shared_ptr<const Held>> held;
    // For a step that holds rows in groups: the rows of `held` in each group,
    // group by group, and the size of each group. Other steps hold all rows of
    // `held`.
    std::vector<RowRef> rows;
    std::vector<uint64_t> groups;
  };
  uint64_t position = 0;
  std::vector<Step> steps;
};

// The place of a reader in its sequence. If the pipeline continues at `cursor`
// with the client stage in state `stage`, the reader has had the first `skip`
// elements of its output.
struct ReadPlace {
  Cursor cursor;
  uint64_t skip = 0;
  uint64_t elements = 0;  // number of the next element
  StageState stage;
  uint64_t skipped = 0;  // elements that on_error skipped before `cursor`
  // A generator's state that leads to `cursor`, or null.
  GeneratorStatePtr state{};

  // The number of the first element after `cursor`.
  uint64_t number() const { return elements - skip; }
};

// Elements [first, second) of a sequence, by number.
using NumberRange = std::pair<uint64_t, uint64_t>;

// Selects the elements of a sequence that a reader returns.
struct ReadRules {
  Share share;
  // Ranges that are left out, sorted, not empty and disjoint.
  std::vector<NumberRange> skips;
  // True if position n makes element n, so that only the share's positions
  // are made (AnalyzedGraph::numbered).
  bool numbered = false;
  // True for a sequenced run (sequenced_graph.h): row n of position 0 is
  // element n.
  bool sequenced = false;
};

// Number of elements that `rules` select of a sequence of `size` elements, from
// element `from` on.
uint64_t ElementsFrom(const ReadRules& rules, uint64_t from, uint64_t size);

// Selects a reader's elements and keeps its place. After a resume, pieces may
// be cut differently, so a place is the begin of a piece and a number of
// elements. Not thread-safe.
class PlaceTracker {
 public:
  explicit PlaceTracker(ReadRules rules = {}) : rules_(std::move(rules)) {}

  // Continues from a place. REQUIRES: the stage is in the state of the place.
  void ContinueFrom(ReadPlace place);
  // Announces that a piece that begins at `begin` is about to enter the stage
  // in state `before`. `skipped`: elements skipped before it. `state`: of a
  // generator, leads to `begin`.
  void Feed(Cursor begin, StageState before, uint64_t skipped = 0,
            GeneratorStatePtr state = nullptr);
  // Returns the rows of `chunk`, output of the pipeline, that belong to this
  // reader and come after the resumed place. If the sequence is numbered or
  // sequenced, all rows belong to it.
  Chunk Keep(Chunk chunk);
  // For a numbered sequence, returns the first position at or after `p` that is
  // not left out.
  uint64_t NeededFrom(uint64_t p) const;
  // Returns the number of the next element, of all ranks.
  uint64_t next() const { return next_; }
  // Returns the place before the last `unread` selected elements; nullopt if
  // there are more than the last piece had. If the sequence is sequenced, the
  // place has its cursor, and `state` leads to it.
  std::optional<ReadPlace> Before(uint64_t unread) const;

 private:
  bool Skipped(uint64_t number) const;
  uint64_t KeptBefore(uint64_t number) const;

  const ReadRules rules_;
  uint64_t from_ = 0;    // number of the first element after the resumed place
  uint64_t next_ = 0;    // number of the next element
  uint64_t kept_ = 0;    // elements selected since ContinueFrom
  uint64_t last_ = 0;    // number of the last selected element
  bool yielded_ = true;  // an element was selected since place_
  // The place before the last piece, and the place before the last piece with
  // elements that precedes it.
  ReadPlace place_;
  ReadPlace earlier_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_READ_PLACE_H_
