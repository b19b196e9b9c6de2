#ifndef FEEDMILL_CORE_SOURCES_RANGE_GATHERER_H_
#define FEEDMILL_CORE_SOURCES_RANGE_GATHERER_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/sources/file_system.h"

namespace feedmill {

// Reads short ranges of files, hundreds of them at once: out of the files'
// mappings. Where those are guarded, ranges are read where they are; else, by
// one system call, the kernel copies them into a window of memory. Where a file
// was cut off since it was mapped, neither ends this process, and Sound() says
// so.
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

  // Notes one range more; the file must be there until Sound() was asked.
  // False: it is to be read otherwise, as it is too long, or its file is none
  // in memory. REQUIRES: not full().
  bool Add(const File& file, uint64_t offset, uint64_t size);
  bool full() const;
  void Forget();

  // Where the ranges noted since Forget() can be read, in the order of Add,
  // until the next one. Others may write there meanwhile: what is checked has
  // to be a copy. Empty: some cannot be read so; reading them one by one says
  // why. REQUIRES: some were noted.
  std::span<const std::span<const std::byte>> Gather();
  // Whether what was read there was the files' bytes.
  bool Sound() const;

 private:
  bool HasWindow();
  bool CopyToWindow();

  std::vector<std::span<const std::byte>> ranges_;
  std::vector<const GuardedMapping*> mappings_;  // of the ranges
  std::vector<iovec> copied_;
  size_t bytes_ = 0;
  int window_file_ = -1;
  std::byte* window_ = nullptr;
  bool no_window_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RANGE_GATHERER_H_
