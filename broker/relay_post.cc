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
  if (waiting_->load() + bytes > bytes_max_) {
    ++dropped_;
    return;
  }
  const std::string client = std::exchange(relay.client, "");
  relay.parts = Weighed(std::move(relay.parts));
  relayed_bytes_ += bytes;
  messenger_.Send(peers, client, relay);
}

// Returns the same buffers; their bytes count as waiting until they are freed.
std::vector<Buffer> RelayPost::Weighed(std::vector<Buffer> parts) const {
  for (Buffer& part : parts) {
    const size_t size = part.size();
    waiting_->fetch_add(size);
    std::shared_ptr<const void> owner(
        part.data(), [kept = part, waiting = waiting_](const void*) {
          waiting->fetch_sub(kept.size());
        });
    part = Buffer(std::move(owner), part.data(), size);
  }
  return parts;
}

void RelayPost::Note(TransportFaults& faults) const {
  faults.relayed_bytes = relayed_bytes_;
  faults.relay_waiting_bytes = waiting_->load();
  faults.relay_dropped = dropped_;
}

}  // namespace feedmill
