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

// Writes whole lines to a file descriptor of any kind, and counts them. It
// blocks in poll only, so that a stop is seen at once.
//
// Lines of up to 4,096 bytes go to a pipe as a whole or not at all. A longer
// line that a stop meets half written is finished if the pipe's reader takes
// the rest within the grace. In a regular file the half line that an error
// leaves is cut off again.
class LineOutput {
 public:
  static constexpr absl::Duration kGrace = absl::Seconds(5);

  // `cancel` must outlive this; once true, no further line is begun.
  LineOutput(int fd, const std::atomic<bool>& cancel,
             absl::Duration grace = kGrace);

  // Writes the lines of `text`; line k ends at ends[k]. Adds 1 to `written` for
  // each line that is with the kernel as a whole. Calls `go_on`, if set, before
  // each write that begins a line, and now and then while it waits to; returns
  // OK without that write on false.
  //   Cancelled    `cancel` is true
  //   Aborted      the reader of a pipe has gone
  //   Unavailable  other errors, e.g. a full disk
  absl::Status Write(std::string_view text, std::span<const size_t> ends,
                     std::atomic<uint64_t>& written,
                     const std::function<bool()>& go_on = {});

 private:
  // True if fd_ takes bytes without blocking; waits for it so long.
  bool Writable(int milliseconds) const;
  // Never blocks if the kernel can do that.
  ptrdiff_t WriteSome(std::string_view text);
  // Removes the last `bytes` of a regular file that ends there.
  void CutOff(size_t bytes) const;

  const int fd_;
  const std::atomic<bool>& cancel_;
  const absl::Duration grace_;
  const bool file_;  // regular: never blocks for long
  bool no_wait_;     // the kernel knows RWF_NOWAIT for it
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_LINE_OUTPUT_H_
