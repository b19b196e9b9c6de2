#ifndef FEEDMILL_CORE_NET_SHARED_EVENT_LOOP_H_
#define FEEDMILL_CORE_NET_SHARED_EVENT_LOOP_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/time/time.h"

namespace feedmill {

// Shares one event loop between its own thread (Run) and threads that would
// otherwise only wait for its results (Take, called borrowers here). Borrowing
// saves waking the loop's thread. While borrowers are active, the loop's own
// thread only checks from time to time. If an iteration is long, it is notified
// at its end instead.
//
// Thread-safety: Run on one thread, once; other methods from any thread, but
// not inside an iteration.
class SharedEventLoop {
 public:
  // `iterate` runs one iteration: waits for an event, at most until the given
  // time, and handles it. `wake` ends the present or the next wait; called from
  // any thread.
  SharedEventLoop(std::function<void(absl::Time)> iterate,
                  std::function<void()> wake)
      : iterate_(std::move(iterate)), wake_(std::move(wake)) {}
  SharedEventLoop(const SharedEventLoop&) = delete;
  SharedEventLoop& operator=(const SharedEventLoop&) = delete;

  // Runs iterations, or lets borrowers run them, until Stop. When Run returns,
  // no iteration is in progress and none will begin.
  void Run();
  // Runs one iteration. If another thread is in one, wakes it and waits for its
  // end. Returns false after Stop.
  bool Take(absl::Time until);
  // Prevents further iterations and wakes the present one.
  void Stop();
  bool stopping() const { return stopping_.load(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  void TakeOne(Lock& lock, absl::Time until);
  void Lend(Lock& lock);

  const std::function<void(absl::Time)> iterate_;
  const std::function<void()> wake_;

  std::mutex mu_;
  std::condition_variable
      over_;  // notified at the end of an iteration, for waiting borrowers
  std::condition_variable
      iteration_ended_;        // notified at the end of an iteration, for Run
  bool in_iteration_ = false;  // guarded by mu_
  uint64_t iterations_ = 0;    // guarded by mu_
  int waiting_ = 0;            // guarded by mu_: borrowers waiting in Take
  bool notify_ended_ = false;  // guarded by mu_: notify iteration_ended_ next
  std::atomic<bool> stopping_{false};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SHARED_EVENT_LOOP_H_
