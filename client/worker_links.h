#ifndef FEEDMILL_CLIENT_WORKER_LINKS_H_
#define FEEDMILL_CLIENT_WORKER_LINKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/net/address.h"
#include "core/net/in_process_channel.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "core/net/security.h"
#include "core/net/shared_memory_client.h"
#include "core/wire/message.h"
#include "feedmill/reader.h"

namespace feedmill {

class ReadProfile;

// Transports for frames.
struct Transports {
  // Read results of workers in this process or on this host in place, instead
  // of having them sent.
  bool share = true;
  bool via_dispatcher = false;  // workers cannot be reached; overrides share
  LinkCompression compression =
      LinkCompression::kNone;  // of frames that are sent
  // Receives the workers' costs of frames; null: not requested.
  std::shared_ptr<ReadProfile> profile{};
};

// A reader's connections to at most 32 workers: through this process, through
// memory on this host, through TCP, or through the dispatcher. A connection is
// opened by the first grant and closed after 10 s without one. Messages of
// workers do not pass this class: it names the route by which each one comes.
//
// Thread: the reactor's, except for Reports.
class WorkerLinks {
 public:
  // The route of a worker's messages. `memory`: the worker's, or null.
  struct Route {
    SocketId socket;
    std::shared_ptr<SharedMemoryClient> memory;
  };
  // Called when the local connection to a worker has messages.
  using OnLocal = std::function<void(const PeerId& worker)>;
  // Workers that do not answer.
  struct Faults {
    std::string unreachable;  // the address of one that accepts no messages
    absl::Time unreachable_since = absl::InfiniteFuture();
    absl::Status refused;  // its list of keys lacks this client's
  };

  // `channel` receives the frames of workers in this process; it is closed with
  // this object. `reactor`, `messenger` and `security` must outlive it.
  WorkerLinks(Reactor& reactor, Messenger& messenger,
              const std::optional<Security>& security, Transports transports,
              std::shared_ptr<InProcessChannel> channel, OnLocal on_local);
  ~WorkerLinks();
  WorkerLinks(const WorkerLinks&) = delete;
  WorkerLinks& operator=(const WorkerLinks&) = delete;

  // The socket of the dispatcher, which relays messages if `via_dispatcher`.
  void SetDispatcher(SocketId dispatcher) { dispatcher_ = dispatcher; }

  // Sends a grant, and opens the connection if there is none. If that is not
  // possible now, nothing is sent; the next heartbeat repeats the grant.
  void Send(const PeerId& worker, Grant grant);
  // Returns the worker whose socket it is; null if it is none's.
  const PeerId* WorkerAt(SocketId socket) const;
  // Returns the route from a worker; nullopt if there is no connection to it.
  std::optional<Route> RouteFrom(const PeerId& worker) const;
  // Call when all messages of a worker's local connection were read.
  void NoteLocalRead(absl::Time now, const PeerId& worker);
  // Reports a message of the worker that was read, and its frame if it is one.
  // False: there is no connection to the worker.
  bool NoteMessage(absl::Time now, const PeerId& worker, const Frame* frame);
  // Uses the memory that a worker offers.
  void OnOffer(const PeerId& worker, const ShareOffer& offer);
  void CloseIdle(absl::Time now);

  // Calls `arriving` for each worker from whose socket at least 64 KiB came
  // since the last call.
  void ForEachArriving(const std::function<void(const PeerId&)>& arriving);
  Faults FindFaults() const;
  // Names of the workers that get grants and have accepted none for 2 s, at
  // most as many as a report may hold.
  std::vector<std::string> Unreachable() const;
  // Traffic per worker so far, for the first 256. Any thread.
  std::vector<LinkReport> Reports() const;

 private:
  struct Link {
    LinkKind kind = LinkKind::kTcp;
    SocketId socket;  // kRelay: the dispatcher's; kProcess: none
    std::shared_ptr<InProcessChannel> process;  // kProcess: the worker's
    bool checksums = false;  // the link needs checksums of parts
    absl::Time used;
    absl::Time stuck_since = absl::InfiniteFuture();
    // The worker's memory; null before it is offered and after it is lost.
    std::shared_ptr<SharedMemoryClient> memory;
    absl::Time ask_at;  // next request for the memory
    // Bytes that the socket had received at the last look.
    std::optional<uint64_t> received{};
    // Time since which a local message waits for one of the socket.
    absl::Time waits_since = absl::InfiniteFuture();
  };
  using Links = std::map<PeerId, Link>;

  Link* Reach(const PeerId& worker, const Grant& grant);
  absl::StatusOr<Link> Open(const PeerId& worker, const Grant& grant);
  absl::StatusOr<Link> ConnectTo(const PeerId& worker);
  void Close(Links::iterator worker);
  void Count(const PeerId& worker, const Link& link, const Frame& frame);

  void AskForMemory(absl::Time now, Link& link);
  void OnMemoryReadable(const PeerId& worker);
  void LeaveMemory(Link& link);

  Reactor& reactor_;
  Messenger& messenger_;
  const std::optional<Security>& security_;
  const Transports transports_;
  const std::shared_ptr<InProcessChannel> channel_;
  const OnLocal on_local_;
  const std::string boot_id_;  // empty: shares no memory
  SocketId dispatcher_;
  Links links_;
  std::map<SocketId, PeerId> worker_of_;
  absl::Time next_close_ = absl::InfinitePast();

  mutable std::mutex mu_;
  std::map<PeerId, LinkReport> reports_;  // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_WORKER_LINKS_H_
