#ifndef FEEDMILL_CORE_IO_RANGE_GATHERER_H_
#define FEEDMILL_CORE_IO_RANGE_GATHERER_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/io/guarded_mapping.h"

namespace feedmill {

// Reads short ranges of files, hundreds at once, from the files' mappings. If
// the mappings are guarded, ranges are read in place. Otherwise one system call
// makes the kernel copy them into a window of memory. A file that was truncated
// after it was mapped does not end this process in either case; Sound() then
// returns false.
//
//   gatherer.Begin();
//   … get the files' mappings, and the ranges of these …
//   while (…) {
//     gatherer.Add(range);          // until full()
//     … read the ranges that Gather() returns …
//     if (!gatherer.Sound()) …      // read the files directly
//     gatherer.Forget();
//   }
//
// Thread-safety: one thread.
class RangeGatherer {
 public:
  // Longer ranges are read directly: gathering them does not pay.
  static constexpr uint64_t kRangeBytesMax = uint64_t{8} << 10;

  RangeGatherer() { Begin(); }
  RangeGatherer(const RangeGatherer&) = delete;
  RangeGatherer& operator=(const RangeGatherer&) = delete;
  ~RangeGatherer();

  // Returns a range of a file in memory. Its data() is null if the range must
  // be read directly: it is too long, or beyond the mapping.
  static std::span<const std::byte> Range(const GuardedMapping& mapping,
                                          uint64_t offset, uint64_t size);

  // Starts a round and forgets all ranges. Call it before the mappings are
  // requested. The constructor calls it, too.
  void Begin();
  // Adds a range. Its mapping must live until the call of Sound(). REQUIRES:
  // not full().
  void Add(std::span<const std::byte> range) {
    ranges_.push_back(range);
    bytes_ += range.size();
  }
  bool full() const;
  void Forget();

  // Returns the memory of the ranges added since Forget(), in the order of Add.
  // It is valid until the next Add, Gather or Forget. Another process may write
  // there at any time: copy the bytes before you validate them. Empty if some
  // range cannot be read in this way; reading the ranges one by one gives the
  // error. REQUIRES: at least one range was added.
  std::span<const std::span<const std::byte>> Gather();
  // True if all bytes read from there since Begin() were the files' bytes.
  // False if any mapping of this process has faulted since then.
  bool Sound() const { return GuardedMapping::Faults() == faults_; }

 private:
  bool HasWindow();
  bool CopyToWindow();

  std::vector<std::span<const std::byte>> ranges_;
  std::vector<iovec> copied_;
  size_t bytes_ = 0;
  uint64_t faults_ = 0;  // GuardedMapping::Faults() at Begin()
  int window_file_ = -1;
  std::byte* window_ = nullptr;
  bool no_window_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RANGE_GATHERER_H_
