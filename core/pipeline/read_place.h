#ifndef FEEDMILL_CORE_PIPELINE_READ_PLACE_H_
#define FEEDMILL_CORE_PIPELINE_READ_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/chunk/cursor.h"
#include "core/chunk/share.h"
#include "feedmill/chunk.h"

namespace feedmill {

// What a client stage holds between two pieces.
struct StageState {
  struct Held {  // rows that wait for more, as ClientStage keeps them
    Chunk chunk;
    std::vector<Cursor> counters;  // one a row, or none
    std::vector<uint64_t> passes;
  };
  struct RowRef {  // a row of held[block]
    uint32_t block = 0;
    uint32_t row = 0;
  };
  struct Step {
    uint64_t left = 0;  // rows to take or to skip in this pass
    uint64_t made = 0;  // what the step counts: batches, records, draws
    std::vector<std::shared_ptr<const Held>> held;
    // Of steps that hold rows in groups: which rows of `held` these are, group
    // by group, and how many each has. Other steps wait for all of `held`.
    std::vector<RowRef> rows;
    std::vector<uint64_t> groups;
  };
  uint64_t position = 0;
  std::vector<Step> steps;
};

// Where in its sequence a reader stands: from `cursor` on, with the client
// stage in that state, all but the first `skip` elements are still to come.
struct ReadPlace {
  Cursor cursor;
  uint64_t skip = 0;
  uint64_t elements = 0;  // the number of the first that is still to come
  StageState stage;
  uint64_t skipped = 0;  // left out by on_error before `cursor`

  // The number of the first element that comes from `cursor` on.
  uint64_t number() const { return elements - skip; }
};

// Elements [first, second) of a sequence, by number.
using NumberRange = std::pair<uint64_t, uint64_t>;

// Which elements of a sequence a reader hands out.
struct ReadRules {
  Share share;
  // What is left out as if it were not there: in order, not empty, apart.
  std::vector<NumberRange> skips;
  // Element n is that of position n, and only the share's come
  // (AnalyzedGraph::numbered).
  bool numbered = false;
};

// Number of elements that `rules` hand out of a sequence of `size` elements,
// from element `from` on.
uint64_t ElementsFrom(const ReadRules& rules, uint64_t from, uint64_t size);

// Picks a reader's elements out of what comes, and keeps its place. Pieces may
// be cut differently when it is read again from there, so a place is that of a
// piece's begin and a count. Not thread-safe.
class PlaceKeeper {
 public:
  explicit PlaceKeeper(ReadRules rules = {}) : rules_(std::move(rules)) {}

  // Goes on from a place: the stage must be in its state.
  void GoOnFrom(ReadPlace place);
  // A piece that begins there is about to go into the stage; so many elements
  // were left out before it.
  void Feed(Cursor begin, StageState before, uint64_t skipped = 0);
  // The rows of what came out of the pipeline that are this reader's and were
  // not handed out before the place.
  Chunk Keep(Chunk chunk);
  // Numbered: the first position at or after `p` that is not left out.
  uint64_t NeededFrom(uint64_t p) const;
  // The place before the last `unread` elements that were kept; nullopt if
  // those are more than the last piece gave.
  std::optional<ReadPlace> Before(uint64_t unread) const;

 private:
  bool Skipped(uint64_t number) const;
  uint64_t KeptBefore(uint64_t number) const;

  const ReadRules rules_;
  uint64_t from_ = 0;    // before it all was handed out when this began
  uint64_t next_ = 0;    // number of what comes next
  uint64_t kept_ = 0;    // since then
  uint64_t last_ = 0;    // the last one's number, if any
  bool yielded_ = true;  // kept some since place_
  // Before the last piece; before the last that gave elements, but for it.
  ReadPlace place_;
  ReadPlace earlier_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_READ_PLACE_H_
