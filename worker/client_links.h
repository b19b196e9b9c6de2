#ifndef FEEDMILL_WORKER_CLIENT_LINKS_H_
#define FEEDMILL_WORKER_CLIENT_LINKS_H_

#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "core/net/in_process_channel.h"
#include "core/net/reactor.h"
#include "core/net/shared_memory_server.h"
#include "core/wire/packing.h"
#include "worker/codec_chooser.h"
#include "worker/worker_agent.h"

namespace feedmill {

// The connections of a worker to its clients: TCP with or without shared
// memory, relayed by the dispatcher, or an in-process channel. Gives peers
// names that show the kind, and chooses the route and the codec of their
// frames. Frames do not pass this class.
//
// Thread: the reactor's.
class ClientLinks {
 public:
  // The route to a client.
  struct Route {
    enum class Kind { kSocket, kRelay, kProcess };
    Kind kind = Kind::kSocket;
    // kSocket, kRelay: the routing id, a part of the name that was asked for.
    std::string_view routing_id{};
    // kProcess: null if the client is gone.
    std::shared_ptr<InProcessChannel> channel{};
  };

  // All arguments must outlive it. `clients`: the socket of direct clients.
  ClientLinks(Reactor& reactor, SharedMemoryServer& memory, SocketId clients)
      : reactor_(reactor), memory_(memory), clients_(clients) {}

  // Names of senders.
  static PeerId Direct(std::string_view routing_id);
  static PeerId Relayed(std::string_view routing_id);
  PeerId InProcess(const std::shared_ptr<InProcessChannel>& channel);

  Route RouteTo(const PeerId& client) const;
  // A message could not be sent: the client is gone, or does not read.
  void NoteLost(const PeerId& client);

  // Returns the codec for the parts of a computed piece.
  LinkCompression CodecFor(absl::Time now, const ComputeRequest& request);
  void NotePacked(const PlanId& plan, const PackedParts& packed,
                  LinkCompression codec, absl::Duration time);
  void Forget(const PlanId& plan) { chooser_.Forget(plan); }

 private:
  struct Rate {
    std::optional<double> bytes_per_s;  // when last limited by the link
    absl::Time look_at;
  };
  std::optional<double> RateTo(absl::Time now, const PeerId& peer,
                               uint64_t reported);

  Reactor& reactor_;
  SharedMemoryServer& memory_;
  const SocketId clients_;
  CodecChooser chooser_;
  std::map<PeerId, Rate> rates_;
  std::map<PeerId, std::shared_ptr<InProcessChannel>> channels_;
  uint64_t last_channel_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_CLIENT_LINKS_H_
