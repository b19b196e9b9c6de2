#ifndef FEEDMILL_BROKER_RELAY_POST_H_
#define FEEDMILL_BROKER_RELAY_POST_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "broker/dispatcher.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "core/wire/message.h"
#include "feedmill/element.h"

namespace feedmill {

// Relays messages between clients and workers that reach only the dispatcher:
// grants to workers, frames to clients. Messages are neither parsed nor copied.
// Frames that wait for their client have two bounds: the client's credit, and
// `bytes_max` for all clients together. Beyond `bytes_max` frames are dropped;
// their clients request them again, as after any lost frame.
//
// Thread: the reactor's.
class RelayPost {
 public:
  RelayPost(Messenger& messenger, uint64_t bytes_max)
      : messenger_(messenger), bytes_max_(bytes_max) {}

  // Sends the message to its receiver. `from`: the sender's routing id. A
  // message for an unknown peer is dropped.
  void Pass(SocketId peers, const Dispatcher& dispatcher, const PeerId& from,
            Relay relay);
  // Adds the counts of relayed, waiting and dropped data to `faults`.
  void Note(TransportFaults& faults) const;

 private:
  std::vector<Buffer> Weighed(std::vector<Buffer> parts) const;

  Messenger& messenger_;
  const uint64_t bytes_max_;
  // Shared, because the transport frees buffers on its own thread, even after
  // this object is destroyed.
  const std::shared_ptr<std::atomic<uint64_t>> waiting_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  uint64_t relayed_bytes_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_RELAY_POST_H_
