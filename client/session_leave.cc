#include "client/session_leave.h"

#include <utility>

namespace feedmill {
namespace {

constexpr uint32_t kLeavesMax = 4;

}  // namespace

bool SessionLeave::SendFormer(std::vector<Outgoing>& sends) const {
  for (const ClientLeave& leave : former_) {
    sends.push_back({kDispatcherPeer, leave});
  }
  return has_former();
}

bool SessionLeave::AcknowledgeFormer(const Session& session) {
  return std::erase_if(former_, [&](const ClientLeave& leave) {
           return leave.session == session;
         }) > 0;
}

void SessionLeave::Begin(ClientLeave leave) {
  leaving_ = true;
  leave_ = std::move(leave);
}

void SessionLeave::Send(absl::Time now, std::vector<Outgoing>& sends) {
  next_ = absl::InfiniteFuture();
  if (!known_) return;
  if (++sent_ < kLeavesMax) next_ = now + settings_.hello_interval;
  sends.push_back({kDispatcherPeer, leave_});
}

void SessionLeave::Acknowledge() {
  known_ = false;
  next_ = absl::InfiniteFuture();
}

std::vector<ClientLeave> SessionLeave::Unacknowledged() const {
  std::vector<ClientLeave> leaves = former_;
  if (leaving_ && known_) {
    leaves.push_back(leave_);
    leaves.back().spans.reset();
  }
  return leaves;
}

}  // namespace feedmill
