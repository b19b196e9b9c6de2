#ifndef FEEDMILL_CORE_PIPELINE_READ_PLACE_H_
#define FEEDMILL_CORE_PIPELINE_READ_PLACE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/chunk/chunk.h"

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
  uint64_t elements = 0;  // handed out before
  StageState stage;
};

// Keeps a reader's place as it goes on. Pieces may be cut differently when it
// is read again from there, so a place is that of a piece's begin and a count.
// Not thread-safe.
class PlaceKeeper {
 public:
  // Goes on from a place: the stage must be in its state.
  void GoOnFrom(ReadPlace place) {
    to_skip_ = std::exchange(place.skip, 0);
    place_ = std::move(place);
    came_ = 0;
  }
  // A piece that begins there is about to go into the stage.
  void Feed(Cursor begin, StageState before) {
    place_.cursor = begin;
    place_.stage = std::move(before);
    came_ = 0;
  }
  // So many elements came out of the pipeline; the first ones, so many as is
  // returned, were handed out before the place.
  size_t Come(size_t rows) {
    const auto skipped =
        static_cast<size_t>(std::min<uint64_t>(to_skip_, rows));
    to_skip_ -= skipped;
    came_ += rows;
    place_.elements += rows - skipped;
    return skipped;
  }
  // The place before the last `unread` elements that came.
  ReadPlace Before(uint64_t unread) const {
    ReadPlace place = place_;
    place.skip = came_ + to_skip_ - unread;
    place.elements -= unread;
    return place;
  }

 private:
  ReadPlace place_;
  uint64_t came_ = 0;     // since place_.cursor
  uint64_t to_skip_ = 0;  // of what will come
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_READ_PLACE_H_
