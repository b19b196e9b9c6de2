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

// How far a command is, for the line on the terminal.
struct ReadProgress {
  uint64_t elements = 0;
  uint64_t bytes = 0;
  absl::Duration elapsed;
  std::optional<uint64_t> total;  // elements there will be, where known
  const char* unit = "elements";
};
// "1,234,567 elements  45,678/s  12.3 MB/s  [=====     ] 34 %  2:05 left".
std::string ProgressLine(const ReadProgress& progress);

// A thread beside a command that waits: draws the progress line on stderr,
// where that is a terminal, and notices when the reader of stdout has gone
// although there is nothing to write.
class ReadWatch {
 public:
  struct Options {
    bool draw = false;                       // the line
    int output_fd = -1;                      // watched; -1: not
    std::function<ReadProgress()> progress;  // called by the watch's thread
    std::function<void()> on_closed_output;  // too, once
  };
  explicit ReadWatch(Options options);
  // Leaves the last line standing.
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
