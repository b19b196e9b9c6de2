#include "core/net/messenger.h"

#include <utility>

#include "core/base/status.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

constexpr int kAnswersPerSecond = 16;

}  // namespace

Messenger::Messenger(Reactor& reactor, std::string cluster_id)
    : reactor_(reactor), cluster_id_(std::move(cluster_id)) {}

Reactor::Sent Messenger::SendWrapped(SocketId socket, std::string_view to,
                                     const Parts& parts) {
  const Reactor::Sent sent = reactor_.Send(socket, to, parts);
  if (sent == Reactor::Sent::kNo) ++dropped_;
  return sent;
}

absl::StatusOr<Message> Messenger::Receive(absl::Time now, SocketId socket,
                                           std::string_view from,
                                           const std::vector<Buffer>& parts,
                                           bool answer,
                                           PartBorrower* borrower) {
  absl::StatusOr<Message> message = Decode(parts, cluster_id_, borrower);
  if (const auto& sender = reactor_.sender(); message.ok() && sender) {
    const absl::Status may = CheckRole(sender->role, *message);
    if (!may.ok()) message = may;
  }
  if (!message.ok()) Refuse(now, socket, from, message.status(), answer);
  return message;
}

void Messenger::Refuse(absl::Time now, SocketId socket, std::string_view from,
                       const absl::Status& why, bool answer) {
  ++refused_;
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    answers_in_second_ = 0;
    LogWarning("refused {} message(s); the last one: {}", refused_ - logged_,
               ErrorText(why));
    logged_ = refused_;
  }
  if (!answer || answers_in_second_ >= kAnswersPerSecond) return;
  ++answers_in_second_;
  Send(socket, from, Refusal{why});
}

}  // namespace feedmill
