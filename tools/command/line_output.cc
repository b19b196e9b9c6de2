#include "tools/command/line_output.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

// A pipe takes this much atomically, and without blocking if poll reports it as
// writable (pipe(7)).
constexpr size_t kPipeAtomicBytes = PIPE_BUF;
constexpr int kPollMilliseconds = 100;

bool IsRegularFile(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

}  // namespace

LineOutput::LineOutput(int fd, const std::atomic<bool>& cancel,
                       absl::Duration grace)
    : fd_(fd),
      cancel_(cancel),
      grace_(grace),
      file_(IsRegularFile(fd)),
      no_wait_(!file_) {}

absl::Status LineOutput::Write(std::string_view text,
                               std::span<const size_t> ends,
                               std::atomic<uint64_t>& written,
                               const std::function<bool()>& go_on) {
  size_t at = 0;       // all bytes before it are written
  size_t line_at = 0;  // beginning of the first line not fully written
  size_t line = 0;     // number of that line
  absl::Time until = absl::InfiniteFuture();  // end of the grace period
  while (line < ends.size()) {
    const bool within = at > line_at;
    if (cancel_ && !within) return Cancelled("interrupted while writing");
    if (cancel_) {
      until = std::min(until, absl::Now() + grace_);
      if (absl::Now() >= until) {
        return Cancelled(
            "interrupted while writing, and the reader of the output did not "
            "take the rest of the last line within {}",
            absl::FormatDuration(grace_));
      }
    }
    // Called before each wait, so that progress is reported, and after it.
    if (!within && go_on && !go_on()) return absl::OkStatus();
    if (!Writable(0)) {
      Writable(kPollMilliseconds);
      continue;
    }
    // Lines that are written together. After a partial line only its rest: it
    // may be the last one.
    const size_t most = within ? line + 1 : ends.size();
    size_t last = line;
    while (last < most && (file_ || ends[last] - at <= kPipeAtomicBytes))
      ++last;
    const size_t end = last > line ? ends[last - 1] : at + kPipeAtomicBytes;
    const ptrdiff_t count = WriteSome(text.substr(at, end - at));
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      const int error = errno;
      if (within) CutOff(at - line_at);
      if (error == EPIPE) {
        return absl::AbortedError("the reader of the output has gone");
      }
      return Unavailable("cannot write the output: {}", WriteErrorText(error));
    }
    at += static_cast<size_t>(count);
    const size_t first = line;
    while (line < ends.size() && ends[line] <= at) line_at = ends[line++];
    written += line - first;
  }
  return absl::OkStatus();
}

bool LineOutput::Writable(int milliseconds) const {
  if (file_) return true;
  pollfd wait{fd_, POLLOUT, 0};
  return poll(&wait, 1, milliseconds) > 0;
}

// Writes without blocking if possible: a signal may arrive just before the
// write, and another process may fill the pipe after poll.
ptrdiff_t LineOutput::WriteSome(std::string_view text) {
  if (no_wait_) {
    // writev does not modify the buffer.
    const iovec part{const_cast<char*>(text.data()), text.size()};
    const ssize_t count = pwritev2(fd_, &part, 1, -1, RWF_NOWAIT);
    const bool unknown = count < 0 && (errno == EOPNOTSUPP || errno == ENOSYS ||
                                       errno == EINVAL);
    if (!unknown) return count;
    no_wait_ = false;
  }
  return write(fd_, text.data(), text.size());
}

void LineOutput::CutOff(size_t bytes) const {
  struct stat about {};
  const off_t at = lseek(fd_, 0, SEEK_CUR);
  if (!file_ || fstat(fd_, &about) != 0 || at != about.st_size) return;
  const off_t end = at - static_cast<off_t>(bytes);
  if (end >= 0 && ftruncate(fd_, end) == 0) lseek(fd_, end, SEEK_SET);
}

}  // namespace feedmill
