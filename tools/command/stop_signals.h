#ifndef FEEDMILL_TOOLS_COMMAND_STOP_SIGNALS_H_
#define FEEDMILL_TOOLS_COMMAND_STOP_SIGNALS_H_

#include <atomic>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/command/service_notifier.h"

namespace feedmill {

// Receives signals by waiting instead of by interruption.
//
// Create it before any thread starts: the signals are blocked in this thread
// and all threads it starts later. The destructor restores the old mask.
class StopSignals {
 public:
  StopSignals(std::initializer_list<int> signals = {SIGINT, SIGTERM});
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns the next signal; nullopt when `fd` is readable (-1: none) or after
  // `timeout`.
  std::optional<int> Wait(int fd, absl::Duration timeout);

 private:
  sigset_t old_mask_;
  int signal_fd_ = -1;
};

// Runs `join` in a thread of its own and returns its result. Each signal
// meanwhile calls `stop`. `notifier` tells the service manager about the start
// and the end.
absl::Status ServeUntilStopped(StopSignals& signals, ServiceNotifier& notifier,
                               const std::function<absl::Status()>& join,
                               const std::function<void(int signal)>& stop);

// SIGINT and SIGTERM as flags that a read polls. A signal also interrupts a
// blocking system call of the thread that called CatchSignals. A second signal,
// a second later or more, ends the process at once.
class ReadInterrupt {
 public:
  // Call it on the thread that reads and writes, once per process.
  static void CatchSignals();
  // True after the first signal.
  static const std::atomic<bool>& cancel();
  // The number of the first signal; 0: none came.
  static int signal();
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_STOP_SIGNALS_H_
