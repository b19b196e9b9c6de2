#ifndef FEEDMILL_WORKER_CLIENT_LINKS_H_
#define FEEDMILL_WORKER_CLIENT_LINKS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "core/net/arena_host.h"
#include "core/net/in_process_channel.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "core/wire/packing.h"
#include "worker/codec_chooser.h"
#include "worker/worker_agent.h"

namespace feedmill {

// The connections of a worker to its clients: TCP with or without shared
// memory, relayed by the dispatcher, or an in-process channel. Gives peers
// names that show the kind, and chooses the codec of their frames.
//
// Thread: the reactor's.
class ClientLinks {
 public:
  // All arguments must outlive it.
  ClientLinks(Reactor& reactor, Messenger& messenger, ArenaHost& memory,
              SocketId clients, SocketId dispatcher);

  // The name that relayed messages bear.
  void TakeName(WorkerId worker) { worker_ = std::move(worker); }

  // Names of senders.
  static PeerId Direct(std::string_view routing_id);
  static PeerId Relayed(std::string_view routing_id);
  PeerId InProcess(const std::shared_ptr<InProcessChannel>& channel);

  // Drops messages that cannot be sent. `own`: channel for answers of clients
  // in this process.
  void Send(const PeerId& to, const Message& message,
            const std::shared_ptr<InProcessChannel>& own);

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
  void SendDirect(std::string_view routing_id, const Message& message);
  std::optional<double> RateTo(absl::Time now, const PeerId& peer,
                               uint64_t told);

  Reactor& reactor_;
  Messenger& messenger_;
  ArenaHost& memory_;
  const SocketId clients_;
  const SocketId dispatcher_;
  WorkerId worker_;
  CodecChooser chooser_;
  std::map<PeerId, Rate> rates_;
  std::map<PeerId, std::shared_ptr<InProcessChannel>> channels_;
  uint64_t last_channel_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_CLIENT_LINKS_H_
