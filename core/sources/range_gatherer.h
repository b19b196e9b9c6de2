#ifndef FEEDMILL_CORE_SOURCES_RANGE_GATHERER_H_
#define FEEDMILL_CORE_SOURCES_RANGE_GATHERER_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/sources/file_system.h"

namespace feedmill {

// Reads short ranges of files, hundreds of them by one system call: the kernel
// copies them out of the files' mappings into a window of memory. Where a file
// was cut off since it was mapped, that call fails; no signal comes, as it
// would if the mapping were read here.
//
// Thread-safety: one thread.
class RangeGatherer {
 public:
  // Longer ranges are not worth it.
  static constexpr uint64_t kRangeBytesMax = uint64_t{8} << 10;

  RangeGatherer() = default;
  RangeGatherer(const RangeGatherer&) = delete;
  RangeGatherer& operator=(const RangeGatherer&) = delete;
  ~RangeGatherer();

  // Notes one range more; the file must be there until it was gathered. False:
  // it is to be read otherwise, as it is too long, its file is none in memory,
  // or there is no memory for a window on this machine.
  // REQUIRES: not full().
  bool Add(const File& file, uint64_t offset, uint64_t size);
  bool full() const;
  void Forget() {
    ranges_.clear();
    bytes_ = 0;
  }

  // What is in the ranges, one after the other, valid until the next Add; they
  // are forgotten. Empty: some cannot be read so; reading them one by one says
  // why. REQUIRES: some were noted.
  std::span<const std::byte> Gather();

 private:
  bool HasWindow();

  std::vector<iovec> ranges_;
  size_t bytes_ = 0;
  int window_file_ = -1;
  std::byte* window_ = nullptr;
  bool no_window_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RANGE_GATHERER_H_
