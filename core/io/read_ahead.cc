#include "core/io/read_ahead.h"

#include <algorithm>
#include <vector>

namespace feedmill {
namespace {

// Number of ranges announced per ahead_bytes(). Each range is fetched by
// itself, so that several are in flight while the first is read.
constexpr uint64_t kRangesAhead = 4;

}  // namespace

void ReadAhead::Announce(uint64_t offset) {
  offset = std::min(offset, end_);
  announced_ = std::max(announced_, offset);
  const uint64_t step = std::max<uint64_t>(ahead_ / kRangesAhead, 1);
  const uint64_t until = offset + std::min(ahead_, end_ - offset);
  std::vector<ByteRange> ranges;
  // A last range shorter than a step waits for the next call, unless it reaches
  // the reader's end.
  while (announced_ < until && (until - announced_ >= step || until == end_)) {
    ranges.push_back({announced_, std::min(step, until - announced_)});
    announced_ += ranges.back().size;
  }
  if (!ranges.empty()) file_.Prefetch(ranges);
}

}  // namespace feedmill
