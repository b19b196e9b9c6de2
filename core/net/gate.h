#ifndef FEEDMILL_CORE_NET_GATE_H_
#define FEEDMILL_CORE_NET_GATE_H_

#include <poll.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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

// For this folder only.

namespace feedmill {

// Stands where a reactor's sockets meet the network: answers whether a peer may
// connect (the context's ZAP handler), follows handshakes, and bounds how many
// connections a listener has: when there are too many, the kernel is told to
// drop attempts to connect, which peers repeat, until some have gone. A message
// whose parts do not end would fill the memory of the transport, which hands on
// whole messages only: its connection is dropped.
//
// What fails is counted and logged: the first at once, more of the same kind
// after 10 s, then after twice as long each time, at most 10 minutes.
//
// Thread: the reactor's only.
class Gate {
 public:
  explicit Gate(zmq::context_t& context) : context_(context) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Makes `socket` a CURVE server that admits whom `curve` lists. Before bind.
  absl::Status Secure(SocketId id, zmq::socket_t& socket,
                      const CurveServer& curve);
  // Lets everybody in at `socket` who speaks ZMTP 3, which is all that libzmq
  // takes where it asks somebody. Where a peer of ZMTP 1 or 2 says its name to
  // a socket that is being closed, libzmq ends the process. Before bind.
  absl::Status LeaveOpen(zmq::socket_t& socket);
  // Makes `socket` a CURVE client. Before connect.
  static absl::Status Secure(zmq::socket_t& socket, const CurveClient& curve);

  // Follows the connections of a listener, as `limits` say, or the handshakes
  // of a connection to `peer`. Before bind or connect.
  absl::Status FollowListener(SocketId id, zmq::socket_t& socket,
                              const Reactor::Limits& limits);
  absl::Status FollowConnection(SocketId id, zmq::socket_t& socket,
                                const std::string& peer,
                                const std::optional<CurveClient>& curve);
  // Before `socket` is closed or followed anew.
  static void Unfollow(zmq::socket_t& socket);
  // Before `socket` is closed.
  void Forget(SocketId id, zmq::socket_t& socket);
  // Answers nobody any more. After all that it secured or left open: their
  // connections end when it has.
  void Close() { keys_.close(); }

  // The descriptors that tell when there may be something to serve.
  void AddPollItems(std::vector<pollfd>& items) const;
  // Takes what has come, if something has: a bounded number of events.
  void Serve(absl::Time now);
  void Stir(bool stirred) { stirred_ = stirred_ || stirred; }
  // Whether the next Serve has something to look at.
  bool stirred() const { return stirred_; }

  // Why the last handshake of a connection failed; OK if it did not, or has
  // not been tried. FailedPrecondition: trying again is in vain until somebody
  // changes keys.
  absl::Status HandshakeFailure(SocketId id) const;
  // Connections that the transport has given up, as it does where a peer says
  // what is no ZMTP, or refuses it: again each second, until they are followed
  // anew.
  std::vector<SocketId> TakeGivenUp(absl::Time now);
  // A message of the peer `from` came in over this connection of a listener.
  void Heard(SocketId id, int fd, std::string_view from);
  // How fast the connection of a listener's peer carries bytes, in bytes a
  // second; nullopt where it was not kept busy, or is not known.
  std::optional<double> DeliveryRate(SocketId id, std::string_view peer) const;
  // Peers of listeners, by routing id, whose connection has ended.
  std::vector<std::pair<SocketId, std::string>> TakeGone() {
    return std::exchange(gone_, {});
  }
  // A message of a key that is no longer listed was dropped.
  void CountRevoked(std::string_view key);

  uint64_t refused() const { return refused_; }
  // Of all listeners.
  size_t connections() const { return connections_; }

 private:
  // A listener's.
  struct Connection {
    std::string peer;    // who spoke there; "": nobody yet
    bool heard = false;  // a whole message, since the last look
    // That had come at the first look without one after the last look with one.
    std::optional<uint64_t> bytes;
  };
  struct Followed {
    zmq::socket_t monitor;
    bool listener = false;
    // Listeners: the connections there are.
    size_t connections_max = 0;
    uint64_t unheard_bytes_max = 0;
    int listening_fd = -1;
    std::unordered_map<int, Connection> open;  // by file descriptor
    bool full = false;
    // Connections.
    std::string peer;
    std::optional<CurveClient> curve;
    absl::Status failure;
    // When it ended, where the transport has not said that it tries again.
    std::optional<absl::Time> ended;
  };

  absl::Status Follow(SocketId id, zmq::socket_t& socket, int events,
                      Followed followed);
  // Has libzmq ask us about each peer that connects to `socket`.
  void Watch(zmq::socket_t& socket, const std::string& domain);
  // True if there may be more.
  bool ServeKeys();
  std::vector<Buffer> Answer(const std::vector<Buffer>& request);
  bool ServeMonitor(absl::Time now, SocketId id, Followed& followed);
  void OnListenerEvent(SocketId id, Followed& listener, uint16_t event,
                       uint32_t value);
  void OnConnectionEvent(absl::Time now, Followed& connection, uint16_t event,
                         uint32_t value);
  static void NoteFailure(Followed& connection, uint16_t event, uint32_t value);
  void BoundConnections(Followed& listener);
  void BoundMessages(Followed& listener);
  bool OfNewKey() const { return !last_key_.empty() && last_key_ != said_key_; }
  void Say(absl::Time now);

  zmq::context_t& context_;
  zmq::socket_t keys_;  // the ZAP handler's; made for the first listener
  std::map<std::string, std::shared_ptr<AllowList>> allowed_;  // by ZAP domain
  std::map<SocketId, Followed> followed_;
  uint64_t monitors_ = 0;  // made so far
  std::vector<std::pair<SocketId, std::string>> gone_;
  absl::Time look_at_ = absl::InfinitePast();   // connections' monitors
  absl::Time bound_at_ = absl::InfinitePast();  // listeners' messages

  bool stirred_ = true;  // a socket here may have something
  size_t connections_ = 0;

  // Connections that ended before they said anything, and revoked messages.
  uint64_t refused_ = 0;
  uint64_t said_ = 0;     // refused_ when it was last logged
  std::string last_key_;  // that was refused, and from where
  std::string said_key_;  // the last key that was logged
  absl::Time said_at_ = absl::InfinitePast();
  absl::Duration say_interval_ = absl::ZeroDuration();  // after said_at_
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_GATE_H_
