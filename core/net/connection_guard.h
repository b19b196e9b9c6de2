#ifndef FEEDMILL_CORE_NET_CONNECTION_GUARD_H_
#define FEEDMILL_CORE_NET_CONNECTION_GUARD_H_

#include <poll.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/net/reactor.h"
#include "core/net/security.h"
#include "zmq.hpp"

// Private to core/net.

namespace feedmill {

// ZAP authenticator, connection monitor and connection limiter of a reactor's
// sockets. Decides whether a peer may connect, follows handshakes, and bounds
// the connections of each listener.
//
// If a listener has too many connections, the kernel drops new attempts until
// some have closed; peers repeat them. libzmq delivers whole messages only and
// holds the others: if unfinished messages to a listener have more bytes than
// its largest message, the connection with most of them is dropped.
//
// Failures are counted and logged. The first is logged at once, repetitions of
// the same kind after 10 s, then at doubled intervals up to 10 minutes.
//
// Thread: the reactor's only.
class ConnectionGuard {
 public:
  explicit ConnectionGuard(zmq::context_t& context) : context_(context) {}
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  // Makes `socket` a CURVE server that admits the keys listed in `curve`. Call
  // before bind.
  absl::Status Secure(SocketId id, zmq::socket_t& socket,
                      const CurveServer& curve);
  // Admits every peer that speaks ZMTP 3 to `socket`. ZMTP 1 and 2 are refused:
  // a peer of these versions that identifies itself to a closing socket makes
  // libzmq end the process. Call before bind.
  absl::Status LeaveOpen(zmq::socket_t& socket);
  // Makes `socket` a CURVE client. Call before connect.
  static absl::Status Secure(zmq::socket_t& socket, const CurveClient& curve);

  // Monitors the connections of a listener, within `limits`, or the handshakes
  // of a connection to `peer`. `several`: it has other addresses, and libzmq
  // does not reconnect. Call before bind or connect.
  absl::Status FollowListener(SocketId id, zmq::socket_t& socket,
                              const Reactor::Limits& limits);
  absl::Status FollowConnection(SocketId id, zmq::socket_t& socket,
                                const std::string& peer,
                                const std::optional<CurveClient>& curve,
                                bool several);
  // True if a connection is made, or is in the handshake.
  bool IsMade(SocketId id) const {
    const auto found = followed_.find(id);
    return found != followed_.end() && found->second.fd >= 0;
  }
  // Call before `socket` is closed or followed again.
  static void Unfollow(zmq::socket_t& socket);
  // Call before `socket` is closed.
  void Forget(SocketId id, zmq::socket_t& socket);
  // Stops the ZAP handler. Call only after every socket it authenticates is
  // closed: libzmq ends their connections when the handler goes.
  void Close() { keys_.close(); }

  // Appends the descriptors that become readable when Serve has work.
  void AddPollItems(std::vector<pollfd>& items) const;
  // Handles pending events, if any: a bounded number of them.
  void Serve(absl::Time now);
  void Stir(bool stirred) { stirred_ = stirred_ || stirred; }
  // True if the next Serve has events to check.
  bool stirred() const { return stirred_; }

  // Returns why the last handshake of a connection failed; OK if it succeeded
  // or has not been tried. FailedPrecondition: retries fail until keys are
  // changed.
  absl::Status HandshakeFailure(SocketId id) const;
  // Returns this machine's numeric address on a connection when it was last
  // made. "" before that.
  std::string LocalHost(SocketId id) const;
  // Returns the bytes that came over a connection since it was last made, also
  // bytes of a message that is not whole yet; nullopt while there is none.
  std::optional<uint64_t> ReceivedBytes(SocketId id) const;
  // Returns connections that libzmq no longer retries, because the peer does
  // not speak ZMTP or refuses the connection. Each is returned once a second
  // until it is followed again.
  std::vector<SocketId> TakeGivenUp(absl::Time now);
  // Records that a whole message of `from` arrived over this connection of a
  // listener.
  void Heard(SocketId id, int fd, std::string_view from);
  // Returns the throughput of the connection to a listener's peer, in bytes per
  // second; nullopt if it is unknown or was limited by the sender.
  std::optional<double> DeliveryRate(SocketId id, std::string_view peer) const;
  // Returns the routing ids of listeners' peers whose connections have ended.
  std::vector<std::pair<SocketId, std::string>> TakeGone() {
    return std::exchange(gone_, {});
  }
  // Counts a dropped message whose sender's key is no longer listed.
  void CountRevoked(std::string_view key);

  uint64_t refused() const { return refused_; }
  // Number of handshakes of connections that had been made before.
  uint64_t reconnects() const { return reconnects_; }
  // Connections of all listeners.
  size_t connections() const { return connections_; }

 private:
  // A connection of a listener.
  struct Connection {
    std::string peer;    // routing id; "" before the first message
    bool heard = false;  // a whole message since the last check
    // Bytes received until the last check.
    uint64_t received = 0;
    // Bytes of a message that is not whole, without heartbeats.
    uint64_t unheard = 0;
  };
  struct Followed {
    zmq::socket_t monitor;
    bool listener = false;
    // Listeners: the open connections.
    size_t connections_max = 0;
    uint64_t unheard_bytes_max = 0;
    int listening_fd = -1;
    std::unordered_map<int, Connection> open;  // by file descriptor
    bool full = false;
    // Connections only:
    std::string peer;
    std::optional<CurveClient> curve;
    bool several = false;
    absl::Status failure;
    std::string local_host;
    int fd = -1;  // of the last connection that was made
    // Time of the disconnection, unless libzmq has announced a retry.
    std::optional<absl::Time> ended;
  };

  absl::Status Follow(SocketId id, zmq::socket_t& socket, int events,
                      Followed followed);
  // Makes libzmq ask this class about each peer that connects to `socket`.
  void Watch(zmq::socket_t& socket, const std::string& domain);
  // Returns true if requests may be left.
  bool ServeKeys();
  std::vector<Buffer> Answer(const std::vector<Buffer>& request);
  bool ServeMonitor(absl::Time now, SocketId id, Followed& followed);
  void OnListenerEvent(SocketId id, Followed& listener, uint16_t event,
                       uint32_t value);
  void OnConnectionEvent(absl::Time now, SocketId id, Followed& connection,
                         uint16_t event, uint32_t value);
  static void NoteFailure(Followed& connection, uint16_t event, uint32_t value);
  static void NoteLocalHost(Followed& connection, uint32_t fd);
  void BoundConnections(Followed& listener);
  void BoundMessages(Followed& listener);
  bool OfNewKey() const {
    return !last_key_.empty() && last_key_ != logged_key_;
  }
  void LogRefusals(absl::Time now);

  zmq::context_t& context_;
  zmq::socket_t keys_;  // ZAP handler; made for the first listener
  std::map<std::string, std::shared_ptr<AllowList>> allowed_;  // by ZAP domain
  std::map<SocketId, Followed> followed_;
  std::set<SocketId> met_;  // connections that were made at least once
  uint64_t reconnects_ = 0;
  uint64_t monitors_ = 0;  // made so far
  std::vector<std::pair<SocketId, std::string>> gone_;
  // Next checks of the connections' monitors, and of the listeners' messages.
  absl::Time look_at_ = absl::InfinitePast();
  absl::Time bound_at_ = absl::InfinitePast();

  bool stirred_ = true;  // a monitor or the ZAP socket may have events
  size_t connections_ = 0;

  // Connections that ended in the handshake, and messages with revoked keys.
  uint64_t refused_ = 0;
  uint64_t logged_ = 0;     // refused_ when it was last logged
  std::string last_key_;    // the last refused key, and its address
  std::string logged_key_;  // the last key that was logged
  absl::Time last_log_ = absl::InfinitePast();
  absl::Duration log_interval_ = absl::ZeroDuration();  // after last_log_
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_CONNECTION_GUARD_H_
