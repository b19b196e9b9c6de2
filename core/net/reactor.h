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
#include "core/net/host_lookup.h"
#include "core/net/security.h"
#include "feedmill/element.h"

namespace feedmill {

using SocketId = StrongId<struct SocketIdTag, uint32_t>;

// Callbacks of a reactor. Called one at a time on the thread that runs the
// loop.
class ReactorHandler {
 public:
  virtual ~ReactorHandler() = default;
  // Handles a message, without its routing id. `from`: the peer's routing id at
  // a listener, empty at a connection.
  virtual void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                         std::vector<Buffer> parts) = 0;
  // The connection of a listener's peer that had sent messages has ended. If
  // the peer reconnects, it has another routing id.
  virtual void OnPeerGone(absl::Time, SocketId, std::string_view) {}
  // Called after all pending messages are handled. Timers may be due.
  virtual void OnTurn(absl::Time now) = 0;
  // Time at which OnTurn must be called even if nothing happens.
  virtual absl::Time NextDeadline() const = 0;
};

// Event loop that owns a process's sockets: polls them, reads the clock once
// per iteration, runs posted closures, and delivers messages in bounded, fair
// batches.
//
// The loop runs on its own thread, or on a thread that calls Turn because it
// would otherwise only wait; that saves waking the loop's thread. "The
// reactor's thread" is the thread that runs the loop at the moment. If
// listeners have 1,000 connections or more, at least 2 ms pass between
// iterations, so that one iteration handles messages of many peers.
//
// Buffers of 64 KiB and more are sent without a copy and released when libzmq
// has sent them. Received buffers are views of libzmq's memory.
//
// Thread-safety: Listen, Connect, Watch and Unwatch before Start or on the
// reactor's thread; Send, Close and queries about events on the reactor's
// thread; Turn not on the reactor's thread; other methods from any thread.
// States: new → running → stopping → stopped.
class Reactor {
 public:
  struct Limits {
    int64_t message_bytes_max = int64_t{256} << 20;  // of one received part
    int messages_max = 1'000;  // queued messages per peer and direction
    // Listeners: maximum connections. 0: as many as the descriptor limit
    // allows.
    size_t connections_max = 0;
    // Listeners: maximum bytes of messages that wait to be sent, of all peers
    // together. Beyond a peer's part of them, its messages are dropped.
    uint64_t unsent_bytes_max = UINT64_MAX;
  };
  // The sender of a message; known if the listener has keys.
  struct Sender {
    Role role;
    std::string key;
  };
  enum class Sent { kYes, kQueued, kNo };

  // `name`: of the thread, at most 15 characters.
  // `look_up`: see HostLookup.
  explicit Reactor(std::string name, HostLookup::LookUp look_up = LookUpHost);
  ~Reactor();  // stops and joins
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Listens at host:port (port 0: any) for any number of peers. With `curve`,
  // only listed keys may connect and all traffic is encrypted. Unavailable if
  // the port is taken or the host is not this machine's. InvalidArgument if the
  // host is unknown.
  absl::StatusOr<SocketId> Listen(
      const std::string& host, uint16_t port, Limits limits,
      const std::optional<CurveServer>& curve = std::nullopt);
  // Returns the port of a listener.
  uint16_t PortOf(SocketId listener) const;
  // Connects to one peer. If its name has several addresses, tries one after
  // the other. Reconnects when the connection is lost, refused, or closed
  // because the peer does not speak ZMTP.
  absl::StatusOr<SocketId> Connect(
      const Address& peer, Limits limits,
      const std::optional<CurveClient>& curve = std::nullopt);
  // Returns why a connection's last handshake failed; OK if none failed.
  // FailedPrecondition: retries fail until keys are changed.
  absl::Status HandshakeFailure(SocketId connection) const;
  // Returns this machine's numeric address on a connection when it was last
  // made. "" before that.
  std::string LocalHost(SocketId connection) const;
  // Returns the bytes that came over a connection since it was last made, also
  // bytes of a message that is not whole yet; nullopt while there is none.
  std::optional<uint64_t> ReceivedBytes(SocketId connection) const;
  // The sender of the message being handled; nullopt without keys.
  const std::optional<Sender>& sender() const;
  // Returns the throughput of the connection to a listener's peer, in bytes per
  // second; nullopt if too little was sent to measure. Scans all connections of
  // the listener.
  std::optional<double> DeliveryRate(SocketId listener,
                                     std::string_view peer) const;
  // Number of connections dropped during the handshake.
  uint64_t refused() const;
  // Number of times that a connection was lost and made again.
  uint64_t reconnects() const;
  // Closes a socket. Messages being sent have `linger` to leave.
  void Close(SocketId socket, absl::Duration linger = absl::ZeroDuration());

  // Calls `ready` on the reactor's thread in each iteration in which `fd` is
  // readable or at its end. The caller keeps the ownership of `fd`.
  void Watch(int fd, std::function<void()> ready);
  void Unwatch(int fd);

  // Never blocks. If a connection is down or full, its last 64 messages are
  // queued (kQueued) and older ones dropped. At a listener, a message for a
  // peer that is gone or does not read is dropped (kNo). `until_sent` is
  // dropped when the message was sent or dropped, on any thread.
  Sent Send(SocketId socket, std::string_view to,
            const std::vector<Buffer>& parts,
            std::shared_ptr<const void> until_sent = nullptr);
  // Bytes that wait at a listener with unsent_bytes_max to be sent.
  uint64_t UnsentBytesAt(SocketId listener) const;

  // `handler` must outlive the thread.
  void Start(ReactorHandler* handler);
  // Runs `work` on the reactor's thread, in order. Returns false and drops
  // `work` if the loop does not run or 65,536 closures are queued.
  bool Post(std::function<void()> work);
  // The time of this iteration. On the reactor's thread.
  absl::Time now() const;
  // Makes the loop run an iteration soon.
  void Wake();
  // Runs one iteration of the loop on the calling thread: waits for an event or
  // for `until`, and handles it. If another thread is in an iteration, waits
  // for the end of that one. The reactor's own thread takes over when this has
  // not been called for some milliseconds. Returns false if the reactor has
  // stopped.
  bool Turn(absl::Time until);
  // Ends the loop after the present iteration. Sockets close;
  // connections with `linger`.
  void Stop(absl::Duration linger = absl::ZeroDuration());
  // Waits for the thread, and ends libzmq's threads. REQUIRES: not on the
  // reactor's thread.
  void Join();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_REACTOR_H_
