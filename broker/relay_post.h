#ifndef FEEDMILL_BROKER_RELAY_POST_H_
#define FEEDMILL_BROKER_RELAY_POST_H_

#include <cstdint>

#include "broker/dispatcher.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "core/wire/message.h"

namespace feedmill {

// Relays messages between clients and workers that reach only the dispatcher:
// grants to workers, frames to clients. Messages are neither parsed nor copied.
// Frames that wait for their client have two bounds: the client's credit, and
// the listener's unsent_bytes_max. Frames beyond the latter are dropped; their
// clients request them again, as after any lost frame.
//
// Thread: the reactor's.
class RelayPost {
 public:
  explicit RelayPost(Messenger& messenger) : messenger_(messenger) {}

  // Sends the message to its receiver. `from`: the sender's routing id. A
  // message for an unknown peer is dropped.
  void Pass(SocketId peers, const Dispatcher& dispatcher, const PeerId& from,
            Relay relay);
  // Adds the counts of relayed and dropped data to `faults`.
  void Note(TransportFaults& faults) const;

 private:
  Messenger& messenger_;
  uint64_t relayed_bytes_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_RELAY_POST_H_
