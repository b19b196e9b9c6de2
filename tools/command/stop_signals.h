#ifndef FEEDMILL_TOOLS_COMMAND_STOP_SIGNALS_H_
#define FEEDMILL_TOOLS_COMMAND_STOP_SIGNALS_H_

#include <csignal>
#include <functional>
#include <initializer_list>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace feedmill {

// Signals as something to wait for instead of something that interrupts.
//
// Make it before any thread starts: the signals are blocked in this thread and
// in all that it starts later, and the old mask comes back with destruction.
class StopSignals {
 public:
  StopSignals(std::initializer_list<int> signals = {SIGINT, SIGTERM});
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The next signal; nullopt once `fd` is readable (-1: none) or `timeout` is
  // over.
  std::optional<int> Wait(int fd, absl::Duration timeout);

 private:
  sigset_t old_mask_;
  int signal_fd_ = -1;
};

// Waits for `join`, called in a thread of its own, and returns what it says.
// Each signal meanwhile calls `stop`.
absl::Status ServeUntilStopped(StopSignals& signals,
                               const std::function<absl::Status()>& join,
                               const std::function<void(int signal)>& stop);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_STOP_SIGNALS_H_
