#ifndef FEEDMILL_CORE_NET_TURNS_H_
#define FEEDMILL_CORE_NET_TURNS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/time/time.h"

namespace feedmill {

// The turns of a loop, one at a time: taken by a thread of its own (Run), or by
// whoever would only wait for what comes of them (Take), which saves waking
// that one. While others take them the loop's own thread lends them: it looks
// from time to time, and where a turn is long it is told of its end.
//
// Thread-safety: Run on one thread, once; the others on any, but not in a turn.
class Turns {
 public:
  // `turn`: waits until something has come, at most until the time given, and
  // handles it. `wake`: ends such a wait, or the next; any thread.
  Turns(std::function<void(absl::Time)> turn, std::function<void()> wake)
      : turn_(std::move(turn)), wake_(std::move(wake)) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Takes turns, or lends them, until Stop. When it returns nobody is in one,
  // and nobody will be.
  void Run();
  // Takes a turn; or, where another thread is in one, has it end and waits for
  // that. False: they have stopped.
  bool Take(absl::Time until);
  // No turn begins after this; the one under way is woken.
  void Stop();
  bool stopping() const { return stopping_.load(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  void TakeOne(Lock& lock, absl::Time until);
  void Lend(Lock& lock);

  const std::function<void(absl::Time)> turn_;
  const std::function<void()> wake_;

  std::mutex mu_;
  std::condition_variable over_;  // a turn; for those who want one
  std::condition_variable told_;  // for the thread that lends them
  bool in_turn_ = false;          // guarded by mu_
  uint64_t taken_ = 0;            // guarded by mu_
  int waiting_ = 0;               // guarded by mu_: for one
  bool tell_ = false;             // guarded by mu_: at a turn's end
  std::atomic<bool> stopping_{false};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_TURNS_H_
