#ifndef FEEDMILL_CORE_NET_ZMQ_PARTS_H_
#define FEEDMILL_CORE_NET_ZMQ_PARTS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "feedmill/element.h"
#include "zmq.hpp"

// Multi-part messages on a ZeroMQ socket, without copies of large parts.
// Private to core/net.

namespace feedmill {

// Size from which sharing memory is cheaper than copying it (measured).
inline constexpr size_t kZeroCopyBytes = size_t{64} << 10;
inline constexpr size_t kPartsMax = 4'096;

// The origin of a message that came over TCP.
struct Origin {
  bool names_user = false;  // set by the caller: fill `user` in
  std::string user;         // as authenticated by the ZAP handler; "": none
  int fd = -1;              // of the connection
};

enum class ReceiveResult { kMessage, kNothing, kTooManyParts };

// Makes a part that shares `buffer` if it is large, else a copy. `until_sent`,
// if not null, is dropped with the part.
zmq::message_t ToPart(const Buffer& buffer,
                      std::shared_ptr<const void> until_sent = nullptr);
// Returns a view that keeps the part alive.
Buffer ToBuffer(zmq::message_t part);

// ---- replacements for cppzmq calls that throw when a signal interrupts them

// Takes one part without waiting. Returns false if there is none.
bool ReceivePart(zmq::socket_t& socket, zmq::message_t& part);
// The value of ZMQ_EVENTS.
int ReadyEvents(zmq::socket_t& socket);

// Receives the next message without waiting. If `routed`, its first part is the
// routing id, which is stored in `from`. A message of more than kPartsMax parts
// is dropped. `origin`, if not null, receives the message's origin.
ReceiveResult ReceiveParts(zmq::socket_t& socket, bool routed,
                           std::string& from, std::vector<Buffer>& parts,
                           Origin* origin = nullptr);

// Returns false if the peer is gone or its queue is full. libzmq drops
// `until_sent` when it has sent or dropped the message, on any thread.
bool SendParts(zmq::socket_t& socket, bool routed, std::string_view to,
               const std::vector<Buffer>& parts,
               const std::shared_ptr<const void>& until_sent = nullptr);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_ZMQ_PARTS_H_
