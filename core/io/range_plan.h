#ifndef FEEDMILL_CORE_IO_RANGE_PLAN_H_
#define FEEDMILL_CORE_IO_RANGE_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/io/random_access_file.h"

namespace feedmill {

// The ranges of a file of `size` bytes, sorted, and joined where at most `gap`
// bytes are between them. Bytes beyond the end are cut off.
std::vector<ByteRange> JoinRanges(std::span<const ByteRange> ranges,
                                  uint64_t gap, uint64_t size);

// `range` in parts of nearly equal size, at most `part_bytes` each. REQUIRES:
// part_bytes > 0.
std::vector<ByteRange> SplitRange(const ByteRange& range, uint64_t part_bytes);

// Tells whether announced ranges go through a file in order, and how far beyond
// them to read then. Not thread-safe.
//
// Readers announce a block of some MiB at a time, so without reading further a
// block would wait for a round trip. The distance is at most twice the length
// of the run, which bounds what a short run fetches in vain.
class SequentialRun {
 public:
  // Reads at most `ahead` bytes beyond a run. Ranges up to `ahead` away from
  // its end belong to a run: several threads read blocks beside each other.
  explicit SequentialRun(uint64_t ahead) : ahead_(ahead) {}

  // Notes an announced range. Returns the bytes behind the run to fetch as
  // well; empty if the ranges are in no order.
  ByteRange Extend(const ByteRange& range);

 private:
  const uint64_t ahead_;
  uint64_t begin_ = 0;  // of the run
  uint64_t end_ = 0;    // 0: nothing is announced
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RANGE_PLAN_H_
