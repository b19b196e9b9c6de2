#ifndef FEEDMILL_CORE_NET_ZMQ_PARTS_H_
#define FEEDMILL_CORE_NET_ZMQ_PARTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "feedmill/chunk.h"
#include "zmq.hpp"

// Messages of several parts on a ZeroMQ socket, without copies where they pay.
// For this folder only.

namespace feedmill {

// From here up, sharing the memory is cheaper than copying it (research).
inline constexpr size_t kZeroCopyBytes = size_t{64} << 10;
inline constexpr size_t kPartsMax = 4'096;

// Of a message that came over TCP.
struct Origin {
  bool names_user = false;  // set by the caller: fill `user` in
  std::string user;  // whom the ZAP handler has said the sender is; "": none
  int fd = -1;       // the connection's
};

enum class ReceiveResult { kMessage, kNothing, kTooManyParts };

// A part that shares `buffer` if it is large, else a copy.
zmq::message_t ToPart(const Buffer& buffer);
// A view of the part, which it keeps.
Buffer ToBuffer(zmq::message_t part);

// ---- cppzmq's own calls throw where a signal interrupts them

// Takes one part without waiting. Returns false if there is none.
bool ReceivePart(zmq::socket_t& socket, zmq::message_t& part);
// The value of ZMQ_EVENTS.
int ReadyEvents(zmq::socket_t& socket);

// The next message without waiting. `routed`: its first part is the routing
// id, which goes to `from`. A message of more than kPartsMax parts is dropped.
// `origin`: where it comes from, if not null.
ReceiveResult ReceiveParts(zmq::socket_t& socket, bool routed,
                           std::string& from, std::vector<Buffer>& parts,
                           Origin* origin = nullptr);

// False if the peer is gone, or it or the connection takes no more.
bool SendParts(zmq::socket_t& socket, bool routed, std::string_view to,
               const std::vector<Buffer>& parts);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_ZMQ_PARTS_H_
