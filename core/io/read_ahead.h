#ifndef FEEDMILL_CORE_IO_READ_AHEAD_H_
#define FEEDMILL_CORE_IO_READ_AHEAD_H_

#include <cstdint>

#include "core/io/random_access_file.h"

namespace feedmill {

// Announces what a reader that goes through a file in order comes to next, as
// far ahead as the file wants. Not thread-safe.
class ReadAhead {
 public:
  // The reader goes from `begin` to `end`. `file` must outlive this.
  ReadAhead(const RandomAccessFile& file, uint64_t begin, uint64_t end)
      : file_(file), ahead_(file.ahead_bytes()), announced_(begin), end_(end) {}

  // The reader reads at `offset` next. Call it before each read.
  void Reach(uint64_t offset) {
    if (ahead_ > 0) Announce(offset);
  }

 private:
  void Announce(uint64_t offset);

  const RandomAccessFile& file_;
  const uint64_t ahead_;
  uint64_t announced_;  // up to there
  const uint64_t end_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_READ_AHEAD_H_
