#ifndef FEEDMILL_TOOLS_COMMAND_LINE_OUTPUT_H_
#define FEEDMILL_TOOLS_COMMAND_LINE_OUTPUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace feedmill {

// Writes and counts whole lines on any file descriptor. Blocks only in poll, so
// that it reacts to a stop at once.
//
// Lines of up to 4,096 bytes go to a pipe whole or not at all. If a stop comes
// while a longer line is half written, the rest is still written. This takes at
// most the grace period if the pipe's reader does not accept it. If an error
// leaves half a line in a regular file, it is cut off.
class LineOutput {
 public:
  static constexpr absl::Duration kGrace = absl::Seconds(5);

  // `cancel` must outlive this object. Once it is true, no further line is
  // begun.
  LineOutput(int fd, const std::atomic<bool>& cancel,
             absl::Duration grace = kGrace);

  // Writes the lines of `text`; line k ends at ends[k]. Adds 1 to `written` for
  // each complete line passed to the kernel. `go_on`, if set, is called before
  // each write that begins a line and repeatedly while waiting. If it returns
  // false, Write returns OK without that write.
  //   Cancelled    `cancel` is true
  //   Aborted      the reader of a pipe is gone
  //   Unavailable  other errors, e.g. a full disk
  absl::Status Write(std::string_view text, std::span<const size_t> ends,
                     std::atomic<uint64_t>& written,
                     const std::function<bool()>& go_on = {});

 private:
  // True if fd_ accepts bytes without blocking. Waits for that up to
  // `milliseconds`.
  bool Writable(int milliseconds) const;
  // Does not block if the kernel supports that.
  ptrdiff_t WriteSome(std::string_view text);
  // Removes the last `bytes` at the end of a regular file.
  void CutOff(size_t bytes) const;

  const int fd_;
  const std::atomic<bool>& cancel_;
  const absl::Duration grace_;
  const bool file_;  // regular file: never blocks for long
  bool no_wait_;     // the kernel supports RWF_NOWAIT for it
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_LINE_OUTPUT_H_
