#include "core/net/turns.h"

#include <algorithm>
#include <utility>

#include "core/net/clock.h"

namespace feedmill {
namespace {

// How long nobody may take a turn before the loop's own thread does again, up
// to the second while turns follow each other: a look costs the machine about
// 20 us. After how many looks at one that lasts it is told instead.
constexpr absl::Duration kAway = absl::Milliseconds(5);
constexpr absl::Duration kAwayMax = absl::Milliseconds(20);
constexpr int kLooksMax = 4;
constexpr absl::Duration kSleepMax = absl::Minutes(1);

}  // namespace

void Turns::Run() {
  Lock lock(mu_);
  while (!stopping()) {
    const bool lends = in_turn_ || waiting_ > 0;
    if (lends) Lend(lock);
    if (stopping()) break;
    // What the last to take one did not come to is not to wait for more.
    TakeOne(lock, lends ? absl::InfinitePast() : absl::InfiniteFuture());
  }
  over_.wait(lock, [&] { return !in_turn_; });
}

// REQUIRES: nobody is in one.
void Turns::TakeOne(Lock& lock, absl::Time until) {
  in_turn_ = true;
  ++taken_;
  lock.unlock();
  turn_(until);
  lock.lock();
  in_turn_ = false;
  if (waiting_ > 0 || stopping()) over_.notify_all();
  if (std::exchange(tell_, false)) told_.notify_one();
}

// Until nobody has taken one for a while.
void Turns::Lend(Lock& lock) {
  over_.notify_all();
  absl::Duration away = kAway;
  for (int looks = 0; !stopping();) {
    const uint64_t seen = taken_;
    if (looks < kLooksMax) {
      told_.wait_for(lock, absl::ToChronoNanoseconds(away));
      if (taken_ == seen && !in_turn_) return;
      looks = taken_ == seen ? looks + 1 : 0;
      away = taken_ == seen ? kAway : std::min(2 * away, kAwayMax);
    } else {  // it waits for something, and that may take long
      tell_ = true;
      told_.wait(lock, [&] { return !tell_ || stopping(); });
      looks = kLooksMax - 1;  // as the next one may, too
    }
  }
}

bool Turns::Take(absl::Time until) {
  Lock lock(mu_);
  if (in_turn_ && !stopping()) {
    ++waiting_;
    wake_();
    over_.wait_for(
        lock,
        absl::ToChronoNanoseconds(std::min(until - SteadyNow(), kSleepMax)),
        [&] { return !in_turn_ || stopping(); });
    --waiting_;
    // What it was waited for may have come in the turn that ended.
    return !stopping();
  }
  if (!stopping()) TakeOne(lock, until);
  return !stopping();
}

void Turns::Stop() {
  {
    const std::lock_guard lock(mu_);
    stopping_.store(true);
  }
  over_.notify_all();
  told_.notify_all();
  wake_();
}

}  // namespace feedmill
