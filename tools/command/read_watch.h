#ifndef FEEDMILL_TOOLS_COMMAND_READ_WATCH_H_
#define FEEDMILL_TOOLS_COMMAND_READ_WATCH_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/time/time.h"

namespace feedmill {

// Progress of a command, for the line on the terminal.
struct ReadProgress {
  uint64_t elements = 0;
  uint64_t bytes = 0;
  absl::Duration elapsed;
  std::optional<uint64_t> total;  // expected number of elements, if known
  const char* unit = "elements";
};
// "1,234,567 elements  45,678/s  12.3 MB/s  [=====     ] 34 %  2:05 left".
std::string ProgressLine(const ReadProgress& progress);

// A thread beside a blocking command. Draws the progress line if stderr is a
// terminal. Detects that the reader of stdout is gone even while nothing is
// written.
class ReadWatch {
 public:
  struct Options {
    bool draw = false;                       // draw the progress line
    int output_fd = -1;                      // descriptor to poll; -1: none
    std::function<ReadProgress()> progress;  // called on the polling thread
    // called on the polling thread, once
    std::function<void()> on_closed_output;
  };
  explicit ReadWatch(Options options);
  // Leaves the last line on the terminal.
  ~ReadWatch();

 private:
  void Run();

  const Options options_;
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool ended_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_READ_WATCH_H_
