#ifndef FEEDMILL_CORE_NET_REACTOR_H_
#define FEEDMILL_CORE_NET_REACTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/strong_id.h"
#include "core/net/address.h"
#include "core/net/security.h"
#include "feedmill/chunk.h"

namespace feedmill {

using SocketId = StrongId<struct SocketIdTag, uint32_t>;

// What a reactor tells the shell that it runs, on the thread whose turn it is:
// one at a time.
class ReactorHandler {
 public:
  virtual ~ReactorHandler() = default;
  // A message, its routing id apart. `from`: the peer's routing id at a
  // listener, empty at a connection.
  virtual void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                         std::vector<Buffer> parts) = 0;
  // The connection of a listener's peer that had spoken has ended: it died, or
  // the path did, and it comes back under another routing id.
  virtual void OnPeerGone(absl::Time, SocketId, std::string_view) {}
  // The end of a turn: all that had come is handled, timers may be due.
  virtual void OnTurn(absl::Time now) = 0;
  // When OnTurn must be called again, whatever else happens.
  virtual absl::Time NextDeadline() const = 0;
};

// Owns a process's sockets: polls them, reads the clock once a turn, runs
// posted closures, hands messages on in bounded, fair batches. A thread of its
// own does that, or whoever would only wait for what comes of it (Turn), which
// saves waking that one. "The reactor's thread" is the one whose turn it is.
// Where listeners have 1,000 connections and more, 2 ms pass between turns, so
// that the peers' messages share them.
//
// Buffers of 64 KiB and more are sent without a copy (they are released when
// the transport is done with them); received ones are views of the transport's
// memory.
//
// Thread-safety: Listen, Connect, Watch and Unwatch before Start, or on the
// reactor's thread; Turn not on it; Send, Close and what has happened on the
// reactor's thread; the others from any thread. States: new → running →
// stopping → stopped.
class Reactor {
 public:
  struct Limits {
    int64_t message_bytes_max = int64_t{256} << 20;  // of one part received
    int messages_max = 1'000;  // waiting, in each direction, for each peer
    // Of a listener; 0: as many as the file descriptors allow.
    size_t connections_max = 0;
  };
  // Whose message it is: known where the listener has keys.
  struct Sender {
    Role role;
    std::string key;
  };
  enum class Sent { kYes, kQueued, kNo };

  // `name`: of the thread, at most 15 characters.
  explicit Reactor(std::string name);
  ~Reactor();  // stops and joins
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Listens at host:port (port 0: any) for any number of peers. Unavailable if
  // the port is taken or the host is not this machine's; InvalidArgument for
  // an unknown host. With `curve` only those whom it lists get in, and all is
  // encrypted.
  absl::StatusOr<SocketId> Listen(
      const std::string& host, uint16_t port, Limits limits,
      const std::optional<CurveServer>& curve = std::nullopt);
  // The port that a listener has.
  uint16_t PortOf(SocketId listener) const;
  // Connects to one peer, and again when the connection is lost, refused, or
  // ended because the peer said what is no ZMTP.
  absl::StatusOr<SocketId> Connect(
      const Address& peer, Limits limits,
      const std::optional<CurveClient>& curve = std::nullopt);
  // Why a connection's last handshake failed; OK if none did.
  // FailedPrecondition: somebody must change keys first.
  absl::Status HandshakeFailure(SocketId connection) const;
  // Who sent the message that is being handled; nullopt without keys.
  const std::optional<Sender>& sender() const;
  // How fast the network takes what is sent to a listener's peer, in bytes a
  // second; nullopt where there was too little to tell. Looks at every
  // connection of the listener.
  std::optional<double> DeliveryRate(SocketId listener,
                                     std::string_view peer) const;
  // Connections that were dropped in their handshake.
  uint64_t refused() const;
  // Messages under way have `linger` to leave.
  void Close(SocketId socket, absl::Duration linger = absl::ZeroDuration());

  // Calls `ready` on the reactor's thread in each turn in which there is
  // something to read from `fd`, or its end, which stays the caller's.
  void Watch(int fd, std::function<void()> ready);
  void Unwatch(int fd);

  // Never blocks. At a connection that is down or full the last 64 messages
  // wait (kQueued), older ones are dropped; at a listener a message for a peer
  // that is gone or does not read is dropped (kNo).
  Sent Send(SocketId socket, std::string_view to,
            const std::vector<Buffer>& parts);

  // `handler` must outlive the thread.
  void Start(ReactorHandler* handler);
  // Runs `work` on the reactor's thread, in order. False, and `work` is
  // dropped, if it does not run (any more) or 65,536 closures wait.
  bool Post(std::function<void()> work);
  // The time of this turn. On the reactor's thread.
  absl::Time now() const;
  // Makes a turn happen soon.
  void Wake();
  // Takes a turn on the calling thread: waits until something has come or it is
  // `until`, and handles it. Or waits for the end of the turn that another
  // thread is in. When nobody has called this for some milliseconds, the
  // reactor's own thread goes on. False: the reactor has stopped.
  bool Turn(absl::Time until);
  // Ends the thread after its turn; sockets close, those of connections with
  // `linger`.
  void Stop(absl::Duration linger = absl::ZeroDuration());
  // Waits for the thread. REQUIRES: not on the reactor's thread.
  void Join();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_REACTOR_H_
