#ifndef FEEDMILL_CORE_IO_READ_AHEAD_H_
#define FEEDMILL_CORE_IO_READ_AHEAD_H_

#include <cstdint>

#include "core/io/random_access_file.h"

namespace feedmill {

// Announces ranges for a reader that goes through a file in order,
// ahead_bytes() of the file ahead. Not thread-safe.
class ReadAhead {
 public:
  // The reader reads from `begin` to `end`. `file` must outlive this object.
  ReadAhead(const RandomAccessFile& file, uint64_t begin, uint64_t end)
      : file_(file), ahead_(file.ahead_bytes()), announced_(begin), end_(end) {}

  // Call it before each read, with the offset of that read.
  void Reach(uint64_t offset) {
    if (ahead_ > 0) Announce(offset);
  }

 private:
  void Announce(uint64_t offset);

  const RandomAccessFile& file_;
  const uint64_t ahead_;
  uint64_t announced_;  // end of the announced bytes
  const uint64_t end_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_READ_AHEAD_H_
