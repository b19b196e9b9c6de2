#ifndef FEEDMILL_WORKER_COST_MODEL_H_
#define FEEDMILL_WORKER_COST_MODEL_H_

#include <cstdint>

#include "absl/time/time.h"

namespace feedmill {

// Sizes of frames, in element bytes.
struct FrameSizes {
  uint64_t frame_bytes = 0;  // target size of a frame
  uint64_t cache_bytes = 0;  // of a core
  // Readers read pieces in shared memory, so the fixed cost of a frame
  // dominates. Otherwise pieces are copied, which is cheapest if a frame fits
  // into the cache.
  bool in_place = false;
};

// Measured cost of a plan's positions. It determines the sizes of the plan's
// tasks and frames. Older measurements weigh less. Pure.
class CostModel {
 public:
  void Add(uint64_t positions, uint64_t bytes, absl::Duration busy);
  bool known() const { return positions_ > 0; }
  // True for data whose production is as cheap as reading it from memory. Such
  // data is not prefetched and gets one task per thread: it would be evicted
  // from the cache before it is sent.
  bool cheap() const;
  // Thread nanoseconds for the positions; 0 if no cost is known.
  double NanosecondsFor(uint64_t positions) const;
  // Bytes that a frame should have. A frame costs more than its data if the
  // data is cheap, so frames are larger then. For large elements they hold
  // several, as far as they fit into the cache while being copied.
  uint64_t FrameBytes(const FrameSizes& sizes) const;
  // Positions that fill a frame or take 10 ms, whichever are fewer.
  uint64_t PositionsIn(uint64_t frame_bytes) const;
  // Bytes that the positions will have. A task stops at the end of the position
  // that fills its frame.
  uint64_t BytesOf(uint64_t positions, uint64_t frame_bytes) const;

 private:
  uint64_t positions_ = 0;
  uint64_t bytes_ = 0;
  uint64_t busy_ns_ = 0;
  uint64_t positions_max_ = 1;  // per task; grows by a factor of four
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_COST_MODEL_H_
