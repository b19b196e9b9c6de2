#include "core/pipeline/run_delay.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <string_view>

namespace feedmill {
namespace {

// The file "TIME-ON-CPU RUN-DELAY TIMESLICES", in nanoseconds, of one thread.
class SchedStat {
 public:
  SchedStat()
      : fd_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ~SchedStat() {
    if (fd_ >= 0) close(fd_);
  }
  SchedStat(const SchedStat&) = delete;
  SchedStat& operator=(const SchedStat&) = delete;

  uint64_t RunDelay() const {
    char text[96];
    const ssize_t size = fd_ < 0 ? -1 : pread(fd_, text, sizeof text, 0);
    if (size <= 0) return 0;
    const std::string_view line(text, static_cast<size_t>(size));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) return 0;
    uint64_t delay = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), delay);
    return delay;
  }

 private:
  const int fd_;
};

}  // namespace

double RunDelaySeconds() {
  static const thread_local SchedStat stat;
  return static_cast<double>(stat.RunDelay()) * 1e-9;
}

}  // namespace feedmill
