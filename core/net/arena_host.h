#ifndef FEEDMILL_CORE_NET_ARENA_HOST_H_
#define FEEDMILL_CORE_NET_ARENA_HOST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "core/net/arena_loan.h"
#include "core/net/reactor.h"
#include "core/wire/message.h"

namespace feedmill {

// What a worker does to let clients of its host see its memory instead of
// sending it: answers who asks, hands the memory's descriptors to who comes to
// its local socket with what the answer said, and notices when they are gone.
// What is left to say then, which is small, goes over that connection, too.
// Only processes of the worker's own user get anything.
//
// Nothing here is needed for a frame to arrive: whoever has no link, and what
// does not lie in the arena, is served through the reactor's sockets.
//
// Thread: the reactor's; or none that runs.
class ArenaHost {
 public:
  // A message of a client's; on the reactor's thread.
  using Heard =
      std::function<void(std::string_view peer, std::vector<Buffer> parts)>;

  // `reactor` must outlive it. `bytes`: of the arena, which is there as long as
  // somebody shares it and a few seconds more; 0: shares nothing. `heard`: of
  // what comes over the local connections; null: none carries messages.
  ArenaHost(Reactor& reactor, uint64_t bytes, Heard heard = nullptr);
  ~ArenaHost();
  ArenaHost(const ArenaHost&) = delete;
  ArenaHost& operator=(const ArenaHost&) = delete;

  // `peer`: the routing id that asks.
  ShareOffer OnRequest(absl::Time now, std::string_view peer,
                       const ShareRequest& request);
  // Of what goes to `peer`; null: send everything. Valid for this turn.
  PartLender* LenderTo(std::string_view peer) const;
  // Sends a message that says what LenderTo(peer) was last asked for over the
  // local connection. False: it has to go through the reactor's socket, and
  // what follows it here waits for it there.
  bool Send(std::string_view peer, const std::vector<Buffer>& parts);
  // Whoever has this routing id does not get what the socket is given. Its link
  // ends, and it asks for another.
  void Leave(std::string_view peer);
  // Where to make what clients will see: from when one was offered it, so that
  // the first it gets is there, too. Null while nobody shares.
  std::shared_ptr<BlockSource> blocks() const;
  // Takes back what clients gave back; drops who does not finish joining.
  void OnTurn(absl::Time now);

  size_t links() const { return by_peer_.size(); }
  uint64_t lent_bytes() const;

 private:
  struct Asked {
    std::string peer;
    absl::Time when;
  };
  // A connection: says its nonce, is given the terms, says that it is ready.
  struct Guest {
    OwnedFd connection;
    absl::Time since;
    std::string peer;
    std::unique_ptr<ArenaLoan> loan;  // null: has said nothing yet
    bool up = false;
    // The last sequence number that went through the reactor's socket. The
    // first does: what was sent before there was a link comes before it.
    uint64_t elsewhere = 1;
  };

  absl::Status Open();
  void Prepare(absl::Time now);
  bool HasLoans() const;
  void Accept();
  void OnReadable(int fd);
  absl::Status Greet(Guest& guest);
  absl::Status Hear(const Guest& guest);
  bool IsServed(const Guest& guest) const;
  void Drop(int fd);

  Reactor& reactor_;
  const uint64_t bytes_;
  const Heard heard_;
  std::string boot_id_;
  std::string name_;
  OwnedFd listener_;
  bool failed_ = false;
  std::shared_ptr<SharedArena> arena_;
  absl::Time drop_arena_at_ = absl::InfiniteFuture();   // nobody has a loan
  std::map<uint64_t, Asked> asked_;                     // by nonce
  std::map<int, Guest> guests_;                         // by descriptor
  std::map<std::string, Guest*, std::less<>> by_peer_;  // that are up
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_ARENA_HOST_H_
