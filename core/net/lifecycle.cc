#include "core/net/lifecycle.h"

#include <utility>

#include "core/base/status.h"

namespace feedmill {

absl::Status Lifecycle::Start(const std::function<absl::Status()>& begin) {
  const std::lock_guard change(change_mu_);
  {
    const std::lock_guard lock(mu_);
    switch (state_) {
      case State::kNew:
        break;
      case State::kRunning:
        return absl::OkStatus();
      case State::kEnded:
      case State::kStopped:
        return FailedPrecondition(
            "the {} cannot be started after it has been stopped; make a new "
            "one",
            what_);
    }
    // Set before `begin`, because its thread may end at once.
    state_ = State::kRunning;
  }
  absl::Status begun = begin();
  if (!begun.ok()) {
    {
      const std::lock_guard lock(mu_);
      state_ = State::kNew;
    }
    changed_.notify_all();
  }
  return begun;
}

void Lifecycle::Stop(const std::function<void()>& finish) {
  const std::lock_guard change(change_mu_);
  bool ran = false;
  {
    const std::lock_guard lock(mu_);
    if (state_ == State::kStopped) return;
    ran = state_ != State::kNew;
  }
  if (ran) finish();
  {
    const std::lock_guard lock(mu_);
    state_ = State::kStopped;
  }
  changed_.notify_all();
}

void Lifecycle::End(absl::Status why) {
  {
    const std::lock_guard lock(mu_);
    if (state_ != State::kRunning) return;
    state_ = State::kEnded;
    reason_ = std::move(why);
  }
  changed_.notify_all();
}

absl::Status Lifecycle::Join() {
  std::unique_lock lock(mu_);
  changed_.wait(lock, [this] { return state_ != State::kRunning; });
  if (state_ == State::kNew) {  // or its start has failed
    return FailedPrecondition("the {} has not been started: call Start first",
                              what_);
  }
  return reason_;
}

bool Lifecycle::running() const {
  const std::lock_guard lock(mu_);
  return state_ == State::kRunning;
}

bool Lifecycle::ended() const {
  const std::lock_guard lock(mu_);
  return state_ == State::kEnded || state_ == State::kStopped;
}

absl::Status Lifecycle::reason() const {
  const std::lock_guard lock(mu_);
  return reason_;
}

}  // namespace feedmill
