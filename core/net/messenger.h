#ifndef FEEDMILL_CORE_NET_MESSENGER_H_
#define FEEDMILL_CORE_NET_MESSENGER_H_

#include <cstdint>
#include <memory>
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

// Typed messages over a reactor's sockets. A message that cannot be decoded is
// counted, logged and answered with a Refusal. At most one log line and 16
// Refusals a second are written, so that noise costs little.
//
// Thread: the reactor's only.
class Messenger {
 public:
  // `reactor` must outlive it.
  Messenger(Reactor& reactor, std::string cluster_id);

  // Sends a message. If the socket cannot take it, it is dropped as
  // Reactor::Send describes; the protocol repeats or detects lost messages.
  Reactor::Sent Send(SocketId socket, std::string_view to,
                     const Message& message) {
    return SendWrapped(socket, to, Wrap(message));
  }
  // Encodes the parts that Send would send, for callers that try another
  // transport first. `lender` lends the parts that the peer reads from shared
  // memory.
  Parts Wrap(const Message& message, PartLender* lender = nullptr) const {
    return Encode(message, cluster_id_, lender);
  }
  // `until_sent`: see Reactor::Send.
  Reactor::Sent SendWrapped(SocketId socket, std::string_view to,
                            const Parts& parts,
                            std::shared_ptr<const void> until_sent = nullptr);
  // Decodes a received message. FailedPrecondition: another protocol version or
  // cluster, or the role of the sender's key may not send it. If `answer` is
  // true (listeners), sends a Refusal back.
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
  uint64_t logged_ = 0;  // value of refused_ when it was last logged
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_MESSENGER_H_
