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
#include "feedmill/chunk.h"

namespace feedmill {

// Hands messages on between clients and workers that reach only the
// dispatcher, unread and without a copy: grants one way, frames the other.
// What waits in this process until its client takes it is bounded twice: by
// the client's credit, and by `bytes_max` for all of them together, beyond
// which frames are dropped, as on a bad line (their clients ask again).
//
// Thread: the reactor's.
class RelayPost {
 public:
  RelayPost(Messenger& messenger, uint64_t bytes_max)
      : messenger_(messenger), bytes_max_(bytes_max) {}

  // `from`: the routing id of who said it. What is for nobody is dropped.
  void Pass(SocketId peers, const Dispatcher& dispatcher, const PeerId& from,
            Relay relay);
  // Adds its counts.
  void Note(TransportFaults& faults) const;

 private:
  std::vector<Buffer> Weighed(std::vector<Buffer> parts) const;

  Messenger& messenger_;
  const uint64_t bytes_max_;
  // The transport lets buffers go on a thread of its own, and after this.
  const std::shared_ptr<std::atomic<uint64_t>> waiting_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  uint64_t relayed_bytes_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_RELAY_POST_H_
