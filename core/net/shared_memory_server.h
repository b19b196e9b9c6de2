#ifndef FEEDMILL_CORE_NET_SHARED_MEMORY_SERVER_H_
#define FEEDMILL_CORE_NET_SHARED_MEMORY_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "core/net/reactor.h"
#include "core/net/shared_memory_lease.h"
#include "core/wire/message.h"

namespace feedmill {

// The worker's server for shared memory: lets clients of the same host read
// result buffers in place instead of receiving copies.
//
// It answers share requests, accepts clients on a local socket, passes them the
// memory's file descriptors, and detects when they disconnect. Frame headers,
// which are small then, use the same local connection. Only processes of the
// worker's own user are served.
//
// Sharing is an optimisation. Clients without a link, and buffers outside the
// arena, are served through the reactor's sockets.
//
// Thread: the reactor's, or any thread before it starts and after it ends.
class SharedMemoryServer {
 public:
  // Handles a message from a client, on the reactor's thread.
  using MessageHandler =
      std::function<void(std::string_view peer, std::vector<Buffer> parts)>;

  // `reactor` must outlive it. `bytes`: size of the arena; 0 disables
  // sharing. The arena exists while a client shares it and 10 s more.
  // `on_message` gets the messages of the local connections; if null, none
  // carries messages.
  SharedMemoryServer(Reactor& reactor, uint64_t bytes,
                     MessageHandler on_message = nullptr);
  ~SharedMemoryServer();
  SharedMemoryServer(const SharedMemoryServer&) = delete;
  SharedMemoryServer& operator=(const SharedMemoryServer&) = delete;

  // Answers a share request. `peer`: routing id of the requester.
  ShareOffer OnRequest(absl::Time now, std::string_view peer,
                       const ShareRequest& request);
  // Returns the lender for messages to `peer`; null if every part must be sent.
  // Valid until the end of this run of the loop.
  PartLender* LenderTo(std::string_view peer) const;
  // Sends a message with parts lent by LenderTo(peer) over the local
  // connection. Returns false if the message must use the reactor's socket.
  // Later local messages then wait at the client until that message has
  // arrived.
  bool Send(std::string_view peer, const std::vector<Buffer>& parts);
  // Ends the link of `peer`, which no longer receives messages of the socket.
  // The client requests a new link.
  void Leave(std::string_view peer);
  // Allocator for buffers that clients will read. Set from the first offer on,
  // so that the first frame is shared too. Null while no client shares memory.
  std::shared_ptr<BlockSource> blocks() const;
  // Reclaims returned buffers. Drops clients that do not finish joining in 5 s.
  void OnTurn(absl::Time now);

  size_t links() const { return by_peer_.size(); }
  uint64_t lent_bytes() const;

 private:
  struct ShareRequester {
    std::string peer;
    absl::Time when;
  };
  // A local connection. The client sends its nonce, receives the terms, and
  // reports that it is ready.
  struct Client {
    OwnedFd connection;
    absl::Time since;
    std::string peer;
    std::unique_ptr<SharedMemoryLease> lease;  // null: no greeting received yet
    bool up = false;
    // Sequence number of the last message sent through the reactor's socket.
    // Starts at 1: messages sent before the link existed precede it.
    uint64_t elsewhere = 1;
  };

  absl::Status Open();
  void Prepare(absl::Time now);
  bool HasLeases() const;
  void Accept();
  void OnReadable(int fd);
  absl::Status Handshake(Client& client);
  absl::Status HandleMessages(const Client& client);
  bool IsServed(const Client& client) const;
  void Drop(int fd);

  Reactor& reactor_;
  const uint64_t bytes_;
  const MessageHandler on_message_;
  std::string boot_id_;
  std::string name_;
  OwnedFd listener_;
  bool failed_ = false;
  std::shared_ptr<SharedArena> arena_;
  absl::Time drop_arena_at_ = absl::InfiniteFuture();  // set without leases
  std::map<uint64_t, ShareRequester> requesters_;      // by nonce
  std::map<int, Client> clients_;                      // by descriptor
  std::map<std::string, Client*, std::less<>>
      by_peer_;  // clients that are ready
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SHARED_MEMORY_SERVER_H_
