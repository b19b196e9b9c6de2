#include "core/io/read_stop.h"

#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::duration kCallInterval = std::chrono::milliseconds(50);

thread_local const ReadStop* g_innermost = nullptr;

}  // namespace

ReadStop::ReadStop(const std::atomic<bool>& stopped)
    : stopped_(stopped), outer_(std::exchange(g_innermost, this)) {}

ReadStop::ReadStop(std::function<bool()> interrupted)
    : interrupted_(std::move(interrupted)),
      called_(Clock::now()),
      stopped_(own_),
      outer_(g_innermost) {
  if (interrupted_) g_innermost = this;
}

ReadStop::ReadStop(Clock::time_point end)
    : ReadStop([this, end] {
        return Clock::now() >= end || (outer_ != nullptr && outer_->Stopped());
      }) {}

ReadStop::~ReadStop() { g_innermost = outer_; }

bool ReadStop::Stopped() const {
  if (interrupted_ && !own_ && Clock::now() - called_ >= kCallInterval) {
    own_ = interrupted_();
    called_ = Clock::now();
  }
  return stopped_;
}

bool ReadStop::Asked() {
  return g_innermost != nullptr && g_innermost->Stopped();
}

absl::Status ReadStop::Check(std::string_view name) {
  if (!Asked()) return absl::OkStatus();
  return Cancelled("{}: reading was stopped", name);
}

const std::atomic<bool>* ReadStop::Current() {
  return g_innermost == nullptr ? nullptr : &g_innermost->stopped_;
}

}  // namespace feedmill
