#ifndef FEEDMILL_BROKER_RANGE_POOL_H_
#define FEEDMILL_BROKER_RANGE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/cursor.h"

namespace feedmill {

// The positions of a run that were bound and returned: a set of ranges. A range
// may begin within a position and ends before a position. A value: pools of the
// same ranges are equal, in whichever order the ranges were added.
//
// Memory: two to four bytes for each gap between ranges, e.g. 1 to 2 MB for
// 500,000 gaps. Cost of a change: decoding and encoding a block of 256 ranges,
// and moving one word for each block. Thread-compatible.
class RangePool {
 public:
  struct Range {
    Cursor begin;
    Cursor end;
    friend bool operator==(const Range&, const Range&) = default;
  };

  bool empty() const { return blocks_.empty() && cut_.empty(); }
  // Number of positions in the pool. A position that is only partly in the pool
  // counts as one.
  uint64_t positions() const { return positions_ + cut_.size(); }
  // Returns the lowest range; it touches no other range. REQUIRES: not empty.
  Range First() const;
  // REQUIRES: begin < end, end.i is 0 and no part of [begin, end) is in the
  // pool.
  void Add(Cursor begin, Cursor end);
  // Removes the lowest range up to `end`. REQUIRES: `end` is in that range or
  // its end, and end.i is 0.
  void TakeFirst(Cursor end);
  void Clear() { *this = {}; }
  // Bytes on the heap, approximately.
  size_t memory_bytes() const;

  // Returns the same bytes for equal pools.
  std::string Serialize() const;
  // DataLoss for bytes that Serialize does not make. Memory is at most a
  // constant times the size of `bytes`.
  static absl::StatusOr<RangePool> Parse(std::string_view bytes);

  friend bool operator==(const RangePool& a, const RangePool& b) {
    return a.positions_ == b.positions_ && a.Serialize() == b.Serialize();
  }

 private:
  using Run = std::pair<uint64_t, uint64_t>;  // whole positions [begin, end)
  // Runs in ascending order that do not touch each other. `bytes` holds for
  // each run its length and the gap to the next run as LEB128. The numbers are
  // stored without the `shift` low zero bits that all of them have.
  struct Block {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t shift = 0;
    std::string bytes;
  };

  static std::vector<Run> Decode(const Block& block);
  static Block Encode(const Run* first, const Run* last);
  // Replaces the blocks [first, last) by `runs`.
  void Replace(size_t first, size_t last, const std::vector<Run>& runs);

  // Positions that are partly in the pool → their first element in it.
  std::map<uint64_t, uint64_t> cut_;
  std::vector<Block> blocks_;
  uint64_t positions_ = 0;  // of blocks_
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_RANGE_POOL_H_
