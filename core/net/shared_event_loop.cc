#include "core/net/shared_event_loop.h"

#include <algorithm>
#include <utility>

#include "core/net/clock.h"

namespace feedmill {
namespace {

// If no borrower has run an iteration for kIdleTimeout, the loop's own thread
// takes over. The timeout doubles up to kMaxIdleTimeout while borrowers are
// active, because each check costs the machine about 20 us. After kMaxPolls
// polls within one iteration, the thread waits for a notification instead.
constexpr absl::Duration kIdleTimeout = absl::Milliseconds(5);
constexpr absl::Duration kMaxIdleTimeout = absl::Milliseconds(20);
constexpr int kMaxPolls = 4;
constexpr absl::Duration kSleepMax = absl::Minutes(1);

}  // namespace

void SharedEventLoop::Run() {
  Lock lock(mu_);
  while (!stopping()) {
    const bool lends = in_iteration_ || waiting_ > 0;
    if (lends) Lend(lock);
    if (stopping()) break;
    // If borrowers ran the loop, run once without blocking: the last one may
    // have left events unhandled.
    TakeOne(lock, lends ? absl::InfinitePast() : absl::InfiniteFuture());
  }
  over_.wait(lock, [&] { return !in_iteration_; });
}

// REQUIRES: no iteration is in progress.
void SharedEventLoop::TakeOne(Lock& lock, absl::Time until) {
  in_iteration_ = true;
  ++iterations_;
  lock.unlock();
  iterate_(until);
  lock.lock();
  in_iteration_ = false;
  if (waiting_ > 0 || stopping()) over_.notify_all();
  if (std::exchange(notify_ended_, false)) iteration_ended_.notify_one();
}

// Waits until no borrower has run an iteration for a while.
void SharedEventLoop::Lend(Lock& lock) {
  over_.notify_all();
  absl::Duration away = kIdleTimeout;
  for (int polls = 0; !stopping();) {
    const uint64_t seen = iterations_;
    if (polls < kMaxPolls) {
      iteration_ended_.wait_for(lock, absl::ToChronoNanoseconds(away));
      if (iterations_ == seen && !in_iteration_) return;
      polls = iterations_ == seen ? polls + 1 : 0;
      away = iterations_ == seen ? kIdleTimeout
                                 : std::min(2 * away, kMaxIdleTimeout);
    } else {  // the iteration waits for an event, possibly for long
      notify_ended_ = true;
      iteration_ended_.wait(lock, [&] { return !notify_ended_ || stopping(); });
      polls = kMaxPolls - 1;  // the next iteration may be long too
    }
  }
}

bool SharedEventLoop::Take(absl::Time until) {
  Lock lock(mu_);
  if (in_iteration_ && !stopping()) {
    ++waiting_;
    wake_();
    over_.wait_for(
        lock,
        absl::ToChronoNanoseconds(std::min(until - SteadyNow(), kSleepMax)),
        [&] { return !in_iteration_ || stopping(); });
    --waiting_;
    // The event that the caller waits for may have been handled in that
    // iteration.
    return !stopping();
  }
  if (!stopping()) TakeOne(lock, until);
  return !stopping();
}

void SharedEventLoop::Stop() {
  {
    const std::lock_guard lock(mu_);
    stopping_.store(true);
  }
  over_.notify_all();
  iteration_ended_.notify_all();
  wake_();
}

}  // namespace feedmill
