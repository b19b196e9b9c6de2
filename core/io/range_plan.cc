#include "core/io/range_plan.h"

#include <algorithm>

namespace feedmill {

std::vector<ByteRange> JoinRanges(std::span<const ByteRange> ranges,
                                  uint64_t gap, uint64_t size) {
  std::vector<ByteRange> sorted;
  for (const ByteRange& range : ranges) {
    if (range.offset >= size || range.size == 0) continue;
    sorted.push_back({range.offset, std::min(range.size, size - range.offset)});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const ByteRange& a, const ByteRange& b) {
              return a.offset < b.offset;
            });
  std::vector<ByteRange> joined;
  for (const ByteRange& range : sorted) {
    if (!joined.empty()) {
      ByteRange& last = joined.back();
      const uint64_t end = last.offset + last.size;
      if (range.offset <= end || range.offset - end <= gap) {
        last.size = std::max(end, range.offset + range.size) - last.offset;
        continue;
      }
    }
    joined.push_back(range);
  }
  return joined;
}

std::vector<ByteRange> SplitRange(const ByteRange& range, uint64_t part_bytes) {
  std::vector<ByteRange> parts;
  const uint64_t count = (range.size + part_bytes - 1) / part_bytes;
  uint64_t offset = range.offset;
  uint64_t left = range.size;
  for (uint64_t k = count; k > 0; --k) {
    const uint64_t part = (left + k - 1) / k;
    parts.push_back({offset, part});
    offset += part;
    left -= part;
  }
  return parts;
}

ByteRange SequentialRun::Extend(const ByteRange& range, uint64_t ahead,
                                uint64_t growth) {
  const uint64_t range_end = range.offset + range.size;
  // The first range of a file begins a run as well.
  const bool near = range.offset >= begin_ && range.offset <= end_ + ahead &&
                    range_end + ahead >= end_ &&
                    (end_ > 0 || range.offset == 0);
  if (!near) {
    begin_ = range.offset;
    end_ = range_end;
    return {end_, 0};
  }
  end_ = std::max(end_, range_end);
  return {end_, std::min(ahead, growth * (end_ - begin_))};
}

}  // namespace feedmill
