#include <utility>
#include <vector>

#include "client/read_session.h"

// Leaves of this reader, and unacknowledged ones of earlier readers.

namespace feedmill {
namespace {

constexpr uint32_t kLeavesMax = 4;

}  // namespace

ReadEffects ReadSession::Leave(absl::Time now, bool unread, LeaveReason why) {
  ReadEffects effects;
  if (leaving_) return effects;
  SendLeave(now, effects, unread, why);
  if (state_ != State::kFailed) state_ = State::kEnded;
  DropSplits();
  pulled_.clear();
  return effects;
}

std::vector<ClientLeave> ReadSession::UnsaidLeaves() const {
  std::vector<ClientLeave> unsaid = former_leaves_;
  if (leaving_ && known_) {
    unsaid.push_back(leave_);
    unsaid.back().spans.reset();
  }
  return unsaid;
}

// Each leave includes the last report: positions not reported by then are given
// to other readers. Run 0: the session never heard of its run (a hello that
// opens it may still be on its way), or never began to read it.
void ReadSession::SendLeave(absl::Time now, ReadEffects& effects, bool unread,
                            LeaveReason why) {
  if (!std::exchange(leaving_, true)) {
    leave_.job = settings_.job;
    leave_.session = session_;
    leave_.why = why;
    if (run_ && !unread) {
      leave_.run = run_->run;
      leave_.splits = Report();
    }
    if (ring_.has_value()) leave_.spans = ring_->Take(now);
  }
  next_leave_ = absl::InfiniteFuture();
  if (!known_) return;
  if (++leaves_ < kLeavesMax) next_leave_ = now + settings_.hello_interval;
  effects.sends.push_back({kDispatcherPeer, leave_});
}

// Handles the acknowledgement of an earlier reader's leave. Returns false if
// `session` is none of them. After the last one this reader's hello is due.
bool ReadSession::ForgetFormer(const Session& session) {
  const size_t acknowledged = std::erase_if(
      former_leaves_,
      [&](const ClientLeave& leave) { return leave.session == session; });
  if (acknowledged == 0) return false;
  if (former_leaves_.empty()) next_hello_ = absl::InfinitePast();
  return true;
}

}  // namespace feedmill
