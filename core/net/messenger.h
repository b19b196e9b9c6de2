#ifndef FEEDMILL_CORE_NET_MESSENGER_H_
#define FEEDMILL_CORE_NET_MESSENGER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/net/reactor.h"
#include "core/wire/codec.h"
#include "core/wire/message.h"
#include "core/wire/shared_parts.h"

namespace feedmill {

// Typed messages over a reactor's sockets. What cannot be understood is
// counted, logged once a second at most, and answered with a Refusal (16 a
// second at most), so that noise costs little.
//
// Thread: the reactor's only.
class Messenger {
 public:
  // `reactor` must outlive it.
  Messenger(Reactor& reactor, std::string cluster_id);

  // Sends; what cannot be sent is dropped, as Reactor::Send says: every message
  // is repeated or its loss noticed.
  Reactor::Sent Send(SocketId socket, std::string_view to,
                     const Message& message) {
    return SendWrapped(socket, to, Wrap(message));
  }
  // The parts that Send would send, where they go another way first, and
  // sending them after all. `lender`: of those that the peer sees without their
  // being sent.
  Parts Wrap(const Message& message, PartLender* lender = nullptr) const {
    return Encode(message, cluster_id_, lender);
  }
  Reactor::Sent SendWrapped(SocketId socket, std::string_view to,
                            const Parts& parts);
  // What came in, or why it is refused (FailedPrecondition: another protocol
  // version or cluster, or the sender's key is of a role that may not say it).
  // `answer`: send a Refusal back (listeners).
  absl::StatusOr<Message> Receive(absl::Time now, SocketId socket,
                                  std::string_view from,
                                  const std::vector<Buffer>& parts, bool answer,
                                  PartBorrower* borrower = nullptr);

  uint64_t refused() const { return refused_; }
  uint64_t dropped() const { return dropped_; }

 private:
  void Refuse(absl::Time now, SocketId socket, std::string_view from,
              const absl::Status& why, bool answer);

  Reactor& reactor_;
  const std::string cluster_id_;
  uint64_t refused_ = 0;
  uint64_t dropped_ = 0;
  absl::Time second_ = absl::InfinitePast();  // when the current one began
  int answers_in_second_ = 0;
  uint64_t logged_ = 0;  // refused_ when it was last logged
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_MESSENGER_H_
