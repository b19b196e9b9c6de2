#ifndef FEEDMILL_CORE_IO_RANGE_GATHERER_H_
#define FEEDMILL_CORE_IO_RANGE_GATHERER_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/io/guarded_mapping.h"

namespace feedmill {

// Reads short ranges of files, hundreds of them at once: out of the files'
// mappings. Where those are guarded, ranges are read where they are; else, by
// one system call, the kernel copies them into a window of memory. Where a file
// was cut off since it was mapped, neither ends this process, and Sound() says
// so.
//
//   gatherer.Begin();
//   … ask files for their mappings, and these for ranges …
//   while (…) {
//     gatherer.Add(range);          // until full()
//     … read what Gather() gives …
//     if (!gatherer.Sound()) …      // the files have to be read otherwise
//     gatherer.Forget();
//   }
//
// Thread-safety: one thread.
class RangeGatherer {
 public:
  // Longer ranges are not worth it.
  static constexpr uint64_t kRangeBytesMax = uint64_t{8} << 10;

  RangeGatherer() { Begin(); }
  RangeGatherer(const RangeGatherer&) = delete;
  RangeGatherer& operator=(const RangeGatherer&) = delete;
  ~RangeGatherer();

  // A range of a file in memory. Its data() is null if it is to be read
  // otherwise: it is too long, or not there.
  static std::span<const std::byte> Range(const GuardedMapping& mapping,
                                          uint64_t offset, uint64_t size);

  // Before the mappings are asked for; forgets all. It begins when it is made,
  // too.
  void Begin();
  // Notes one range more; its mapping must be there until Sound() was asked.
  // REQUIRES: not full().
  void Add(std::span<const std::byte> range) {
    ranges_.push_back(range);
    bytes_ += range.size();
  }
  bool full() const;
  void Forget();

  // Where the ranges noted since Forget() can be read, in the order of Add,
  // until the next one. Others may write there meanwhile: what is checked has
  // to be a copy. Empty: some cannot be read so; reading them one by one says
  // why. REQUIRES: some were noted.
  std::span<const std::span<const std::byte>> Gather();
  // Whether what was read there since Begin() was the files' bytes. False if
  // any mapping of this process has faulted meanwhile.
  bool Sound() const { return GuardedMapping::Faults() == faults_; }

 private:
  bool HasWindow();
  bool CopyToWindow();

  std::vector<std::span<const std::byte>> ranges_;
  std::vector<iovec> copied_;
  size_t bytes_ = 0;
  uint64_t faults_ = 0;  // when this began
  int window_file_ = -1;
  std::byte* window_ = nullptr;
  bool no_window_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RANGE_GATHERER_H_
