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

// Positions of a run that were bound and came back: a set of ranges that may
// begin within a position and end before one. A value; pools of the same
// ranges are equal, however they came about.
//
// Memory: two to four bytes for each gap, so a run of a million splits, half of
// them done here and there, takes less than one of them would as text. Cost of
// a change: that of a block of 256 ranges, and moving a word for each block.
// Thread-compatible.
class RangePool {
 public:
  struct Range {
    Cursor begin;
    Cursor end;
    friend bool operator==(const Range&, const Range&) = default;
  };

  bool empty() const { return blocks_.empty() && cut_.empty(); }
  // Positions that are in it, also those of which only a part is.
  uint64_t positions() const { return positions_ + cut_.size(); }
  // The lowest range; it touches no other. REQUIRES: not empty.
  Range First() const;
  // REQUIRES: begin < end, end.i is 0 and nothing of it is in the pool.
  void Add(Cursor begin, Cursor end);
  // Removes the lowest range up to `end`. REQUIRES: `end` is in it, or its end,
  // and end.i is 0.
  void TakeFirst(Cursor end);
  void Clear() { *this = {}; }
  // What it has on the heap, about.
  size_t memory_bytes() const;

  // The same bytes for equal pools.
  std::string Serialize() const;
  // DataLoss for other bytes. Never more memory than a constant times theirs.
  static absl::StatusOr<RangePool> Parse(std::string_view bytes);

  friend bool operator==(const RangePool& a, const RangePool& b) {
    return a.positions_ == b.positions_ && a.Serialize() == b.Serialize();
  }

 private:
  using Run = std::pair<uint64_t, uint64_t>;  // whole positions [begin, end)
  // Runs that follow each other, none touching another: the length of each and
  // the gap to the next as LEB128, without the `shift` zero bits that end all.
  struct Block {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t shift = 0;
    std::string bytes;
  };

  static std::vector<Run> Decode(const Block& block);
  static Block Encode(const Run* first, const Run* last);
  // Puts `runs` in place of the blocks [first, last).
  void Replace(size_t first, size_t last, const std::vector<Run>& runs);

  std::map<uint64_t, uint64_t> cut_;  // position → its first element here
  std::vector<Block> blocks_;
  uint64_t positions_ = 0;  // of blocks_
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_RANGE_POOL_H_
