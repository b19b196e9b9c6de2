#ifndef FEEDMILL_CORE_NET_LIFECYCLE_H_
#define FEEDMILL_CORE_NET_LIFECYCLE_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace feedmill {

// State machine behind the Start, Stop and Join methods of a server.
//
// States: new → running → ended → stopped; new → stopped. In state ended, the
// server's own thread has given up; its resources wait for Stop.
//
// Thread-safety: every method from any thread.
class Lifecycle {
 public:
  // `what`: name of the server for messages, e.g. "worker".
  explicit Lifecycle(std::string what) : what_(std::move(what)) {}

  // If new, runs `begin`; if that fails, stays new. OK if already running.
  // FailedPrecondition if ended or stopped.
  absl::Status Start(const std::function<absl::Status()>& begin);
  // Runs `finish` once, if the server ever ran. Concurrent callers wait for it.
  void Stop(const std::function<void()>& finish);
  // Reports that the server's own thread is about to end because of `why`.
  void End(absl::Status why);
  // Waits for the end and returns its reason: OK after Stop. FailedPrecondition
  // if new.
  absl::Status Join();

  bool running() const;
  bool ended() const;  // or stopped
  absl::Status reason() const;

 private:
  enum class State { kNew, kRunning, kEnded, kStopped };

  const std::string what_;
  std::mutex change_mu_;  // held by Start and Stop throughout; before mu_
  mutable std::mutex mu_;
  std::condition_variable changed_;
  State state_ = State::kNew;  // guarded by mu_
  absl::Status reason_;        // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_LIFECYCLE_H_
