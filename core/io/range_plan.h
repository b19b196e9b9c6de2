#ifndef FEEDMILL_CORE_IO_RANGE_PLAN_H_
#define FEEDMILL_CORE_IO_RANGE_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/io/random_access_file.h"

namespace feedmill {

// Sorts the ranges of a file of `size` bytes, and joins ranges with at most
// `gap` bytes between them. Bytes beyond the end are cut off.
std::vector<ByteRange> JoinRanges(std::span<const ByteRange> ranges,
                                  uint64_t gap, uint64_t size);

// Splits `range` into parts of nearly equal size, at most `part_bytes` each.
// REQUIRES: part_bytes > 0.
std::vector<ByteRange> SplitRange(const ByteRange& range, uint64_t part_bytes);

// Detects whether announced ranges go through a file in order, and computes how
// far to read beyond them. Not thread-safe.
//
// Readers announce a block of some MiB at a time. Without reading ahead, each
// block would wait for a round trip. The distance is at most twice the length
// of the run, which bounds the bytes that a short run fetches in vain.
class SequentialRun {
 public:
  // Adds an announced range. Returns the bytes behind the run to fetch as well:
  // at most `growth` times the run and at most `ahead`, and none if the ranges
  // are in no order. A range at most `ahead` bytes away from the end of a run
  // belongs to it, because several threads read adjacent blocks.
  ByteRange Extend(const ByteRange& range, uint64_t ahead, uint64_t growth);
  // Bytes from the begin of the run to its end.
  uint64_t size() const { return end_ - begin_; }

 private:
  uint64_t begin_ = 0;  // beginning of the run
  uint64_t end_ = 0;    // end of the run; 0: no range was announced
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RANGE_PLAN_H_
