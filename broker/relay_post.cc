#include "broker/relay_post.h"

#include <utility>

namespace feedmill {
namespace {

// Maximum bytes of a message from a client to a worker, e.g. a grant.
constexpr uint64_t kGrantMax = uint64_t{64} << 10;

uint64_t BytesOf(const std::vector<Buffer>& parts) {
  uint64_t bytes = 0;
  for (const Buffer& part : parts) bytes += part.size();
  return bytes;
}

}  // namespace

void RelayPost::Pass(SocketId peers, const Dispatcher& dispatcher,
                     const PeerId& from, Relay relay) {
  const PeerId* const worker = dispatcher.AddressOf(relay.worker);
  const uint64_t bytes = BytesOf(relay.parts);
  if (worker == nullptr) return;
  if (relay.client.empty()) {
    if (bytes > kGrantMax) return;
    relay.client = from.value();
    messenger_.Send(peers, worker->value(), relay);
    return;
  }
  if (*worker != from) return;  // the sender uses another worker's name
  const std::string client = std::exchange(relay.client, "");
  if (messenger_.Send(peers, client, relay) == Reactor::Sent::kNo) {
    ++dropped_;
  } else {
    relayed_bytes_ += bytes;
  }
}

void RelayPost::Note(TransportFaults& faults) const {
  faults.relayed_bytes = relayed_bytes_;
  faults.relay_dropped = dropped_;
}

}  // namespace feedmill
