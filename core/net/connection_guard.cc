#include "core/net/connection_guard.h"

#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/log.h"
#include "core/net/zmq_parts.h"

namespace feedmill {
namespace {

constexpr char kKeysEndpoint[] = "inproc://zeromq.zap.01";
constexpr char kOpenDomain[] = "feedmill-open";
constexpr int kAnswersPerTurn = 256;
constexpr int kEventsPerTurn = 4'096;
constexpr absl::Duration kStopPollInterval = absl::Milliseconds(100);
// Each connection costs a system call; this bounds the checks to 1 % of a core.
constexpr absl::Duration kBoundInterval = absl::Milliseconds(100);
constexpr absl::Duration kBoundIntervalEach = absl::Microseconds(100);
// Allowance for received messages that wait to be read, beside the largest one.
constexpr uint64_t kWaitingBytes = uint64_t{16} << 20;
// Answers to heartbeats of a connection between two checks, at most.
constexpr uint64_t kHeartbeatBytes = 256;
// Intervals between log lines about dropped connections: with another key, and
// of the same kind, which doubles.
constexpr absl::Duration kLogInterval = absl::Seconds(1);
constexpr absl::Duration kFirstRepeatInterval = absl::Seconds(10);
constexpr absl::Duration kMaxRepeatInterval = absl::Minutes(10);
constexpr size_t kKeyBytes = 32;
// Parts of a ZAP request: version, request id, domain, address, routing id,
// mechanism; with CURVE, the key.
constexpr size_t kOpenRequestParts = 6;
constexpr size_t kRequestParts = 7;

// Send buffer for peers on this machine, about half of the kernel's maximum, so
// that the reader finds the data in the cache. By default the kernel lets it
// grow to megabytes, which only helps on a network.
constexpr int kLocalSendBytes = 256 << 10;

// libzmq announces a retry at once. Without an announcement for this long, it
// has given up.
constexpr absl::Duration kReconnectTimeout = absl::Seconds(1);
// Time from a connection that ended to the next address of its peer.
constexpr absl::Duration kNextAddress = absl::Milliseconds(200);
constexpr int kTrials =
    ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_DELAYED | ZMQ_EVENT_CONNECT_RETRIED;
constexpr int kFailures = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

std::string Text(const Buffer& part) {
  return std::string(reinterpret_cast<const char*>(part.data()), part.size());
}

Buffer Part(std::string_view text) {
  return Buffer::CopyOf(std::as_bytes(std::span(text)));
}

bool SetKey(zmq::socket_t& socket, int option, const std::string& key) {
  if (!IsKeyText(key)) return false;
  const std::string bytes = absl::HexStringToBytes(key);
  return zmq_setsockopt(socket.handle(), option, bytes.data(), bytes.size()) ==
         0;
}

absl::Status NoCurve() {
  return FailedPrecondition(
      "this build of libzmq cannot encrypt (CURVE): install one that can, or "
      "run without keys");
}

// True if the peer of a connection is on this machine.
bool IsLocal(int fd) {
  sockaddr_storage own{}, other{};
  socklen_t own_size = sizeof(own), other_size = sizeof(other);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_size) != 0 ||
      own.ss_family != other.ss_family) {
    return false;
  }
  if (own.ss_family == AF_INET) {
    return reinterpret_cast<sockaddr_in&>(own).sin_addr.s_addr ==
           reinterpret_cast<sockaddr_in&>(other).sin_addr.s_addr;
  }
  return own.ss_family == AF_INET6 &&
         IN6_ARE_ADDR_EQUAL(&reinterpret_cast<sockaddr_in6&>(own).sin6_addr,
                            &reinterpret_cast<sockaddr_in6&>(other).sin6_addr);
}

void BoundUnread(int fd) {
  if (!IsLocal(fd)) return;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kLocalSendBytes,
             sizeof(kLocalSendBytes));
}

// Returns the bytes received over a connection; nullopt if unknown.
std::optional<uint64_t> BytesReceived(int fd) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  constexpr socklen_t kNeeded = offsetof(tcp_info, tcpi_bytes_received) +
                                sizeof(info.tcpi_bytes_received);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      length < kNeeded) {
    return std::nullopt;
  }
  return info.tcpi_bytes_received;
}

// Returns the last delivery rate; nullopt if the sender limited it.
std::optional<double> BusyRate(int fd) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  constexpr socklen_t kNeeded =
      offsetof(tcp_info, tcpi_delivery_rate) + sizeof(info.tcpi_delivery_rate);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      length < kNeeded || info.tcpi_delivery_rate_app_limited != 0 ||
      info.tcpi_delivery_rate == 0) {
    return std::nullopt;
  }
  return static_cast<double>(info.tcpi_delivery_rate);
}

// Makes the kernel drop all connection attempts, or accept them again.
void SetClosed(int listening_fd, bool closed) {
  if (!closed) {
    const int unused = 0;
    setsockopt(listening_fd, SOL_SOCKET, SO_DETACH_FILTER, &unused,
               sizeof(unused));
    return;
  }
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &drop};
  setsockopt(listening_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
             sizeof(program));
}

}  // namespace

absl::Status ConnectionGuard::Secure(SocketId id, zmq::socket_t& socket,
                                     const CurveServer& curve) {
  try {
    const std::string domain = fmt::format("feedmill-{}", id.value());
    Watch(socket, domain);
    // A CURVE server without a ZAP handler would admit every peer, so the
    // handler is bound first and closed last.
    const int on = 1;
    if (zmq_setsockopt(socket.handle(), ZMQ_CURVE_SERVER, &on, sizeof(on)) !=
            0 ||
        !SetKey(socket, ZMQ_CURVE_SECRETKEY, curve.own.secret_key)) {
      return NoCurve();
    }
    allowed_[domain] = curve.allowed;
    return absl::OkStatus();
  } catch (const zmq::error_t& error) {
    return ResourceExhausted("cannot open the ZAP handler: {}", error.what());
  }
}

absl::Status ConnectionGuard::LeaveOpen(zmq::socket_t& socket) {
  try {
    Watch(socket, kOpenDomain);
    return absl::OkStatus();
  } catch (const zmq::error_t& error) {
    return ResourceExhausted("cannot monitor connections: {}", error.what());
  }
}

void ConnectionGuard::Watch(zmq::socket_t& socket, const std::string& domain) {
  if (!keys_) {
    zmq::socket_t keys(context_, ZMQ_REP);
    keys.set(zmq::sockopt::linger, 0);
    keys.bind(kKeysEndpoint);
    keys_ = std::move(keys);
  }
  socket.set(zmq::sockopt::zap_domain, domain);
}

absl::Status ConnectionGuard::Secure(zmq::socket_t& socket,
                                     const CurveClient& curve) {
  if (!SetKey(socket, ZMQ_CURVE_SERVERKEY, curve.server_key) ||
      !SetKey(socket, ZMQ_CURVE_PUBLICKEY, curve.own.public_key) ||
      !SetKey(socket, ZMQ_CURVE_SECRETKEY, curve.own.secret_key)) {
    return IsKeyText(curve.server_key)
               ? NoCurve()
               : InvalidArgument("the server's public key is damaged");
  }
  return absl::OkStatus();
}

absl::Status ConnectionGuard::FollowListener(SocketId id, zmq::socket_t& socket,
                                             const Reactor::Limits& limits) {
  Followed followed;
  followed.listener = true;
  followed.connections_max = limits.connections_max;
  followed.unheard_bytes_max =
      static_cast<uint64_t>(limits.message_bytes_max) + kWaitingBytes;
  return Follow(id, socket,
                ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED |
                    ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_DISCONNECTED,
                std::move(followed));
}

absl::Status ConnectionGuard::FollowConnection(
    SocketId id, zmq::socket_t& socket, const std::string& peer,
    const std::optional<CurveClient>& curve, bool several) {
  Followed followed;
  followed.peer = peer;
  followed.curve = curve;
  followed.several = several;
  // Keep the known failure: a new attempt does not change it.
  if (const auto before = followed_.find(id); before != followed_.end()) {
    followed.failure = before->second.failure;
    followed.local_host = before->second.local_host;
  }
  return Follow(id, socket,
                kTrials | kFailures | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                    ZMQ_EVENT_DISCONNECTED | (several ? ZMQ_EVENT_CLOSED : 0),
                std::move(followed));
}

absl::Status ConnectionGuard::Follow(SocketId id, zmq::socket_t& socket,
                                     int events, Followed followed) {
  const std::string endpoint = fmt::format("inproc://monitor-{}", ++monitors_);
  try {
    if (zmq_socket_monitor(socket.handle(), endpoint.c_str(), events) != 0) {
      return ResourceExhausted("cannot watch a socket: {}",
                               zmq_strerror(zmq_errno()));
    }
    followed.monitor = zmq::socket_t(context_, ZMQ_PAIR);
    followed.monitor.set(zmq::sockopt::linger, 0);
    // Unbounded: when the queue is full, the sender would block with libzmq's
    // lock held.
    followed.monitor.set(zmq::sockopt::rcvhwm, 0);
    followed.monitor.connect(endpoint);
  } catch (const zmq::error_t& error) {
    Unfollow(socket);
    return ResourceExhausted("cannot watch a socket: {}", error.what());
  }
  followed_.insert_or_assign(id, std::move(followed));
  stirred_ = true;
  return absl::OkStatus();
}

// Must be called before the monitor's reader goes. Otherwise a libzmq I/O
// thread blocks for ever while it sends an event, and with it all connections
// of the process.
void ConnectionGuard::Unfollow(zmq::socket_t& socket) {
  zmq_socket_monitor(socket.handle(), nullptr, 0);
}

void ConnectionGuard::Forget(SocketId id, zmq::socket_t& socket) {
  Unfollow(socket);
  followed_.erase(id);
  met_.erase(id);
}

void ConnectionGuard::AddPollItems(std::vector<pollfd>& items) const {
  if (keys_) items.push_back({keys_.get(zmq::sockopt::fd), POLLIN, 0});
  for (const auto& [id, followed] : followed_) {
    // Events of an established connection can wait for the next iteration.
    if (!followed.listener && !followed.local_host.empty()) continue;
    items.push_back({followed.monitor.get(zmq::sockopt::fd), POLLIN, 0});
  }
}

void ConnectionGuard::Serve(absl::Time now) {
  const bool look = now >= look_at_;
  if (look) look_at_ = now + kStopPollInterval;
  const bool stirred = std::exchange(stirred_, false) || look;
  if (stirred && keys_) stirred_ = ServeKeys();
  const bool bound = now >= bound_at_;
  connections_ = 0;
  for (auto& [id, followed] : followed_) {
    if (followed.listener || followed.local_host.empty() ? stirred : look) {
      stirred_ = ServeMonitor(now, id, followed) || stirred_;
    }
    if (followed.listener && bound) BoundMessages(followed);
    connections_ += followed.open.size();
  }
  if (bound) {
    LogSuppressed();
    bound_at_ =
        now + std::max(kBoundInterval,
                       kBoundIntervalEach * static_cast<int64_t>(connections_));
  }
  const absl::Duration interval = OfNewKey() ? kLogInterval : log_interval_;
  if (refused_ != logged_ && now - last_log_ >= interval) LogRefusals(now);
}

// ---- keys (ZeroMQ's RFC 27)

bool ConnectionGuard::ServeKeys() {
  std::string from;
  std::vector<Buffer> request;
  for (int i = 0; i < kAnswersPerTurn; ++i) {
    if (ReceiveParts(keys_, /*routed=*/false, from, request) ==
        ReceiveResult::kNothing) {
      return false;
    }
    SendParts(keys_, /*routed=*/false, "", Answer(request));
  }
  return true;
}

std::vector<Buffer> ConnectionGuard::Answer(
    const std::vector<Buffer>& request) {
  const auto answer = [&](std::string_view code, std::string_view text,
                          std::string_view user) {
    const std::string number = request.size() > 1 ? Text(request[1]) : "";
    return std::vector<Buffer>{Part("1.0"), Part(number), Part(code),
                               Part(text),  Part(user),   Part("")};
  };
  if (request.size() == kOpenRequestParts && Text(request[2]) == kOpenDomain &&
      Text(request[5]) == "NULL") {
    return answer("200", "OK", "");
  }
  if (request.size() != kRequestParts || Text(request[5]) != "CURVE" ||
      request[6].size() != kKeyBytes) {
    return answer("500", "not understood", "");
  }
  const std::string key = absl::BytesToHexString(
      {reinterpret_cast<const char*>(request[6].data()), request[6].size()});
  const auto allowed = allowed_.find(Text(request[2]));
  if (allowed != allowed_.end() && allowed->second->RoleOf(key).has_value()) {
    return answer("200", "OK", key);
  }
  last_key_ = fmt::format(
      "{} from {}, which is not listed in {}", ShortKey(key), Text(request[3]),
      allowed == allowed_.end() ? "" : allowed->second->Places());
  return answer("400", "not listed", "");
}

void ConnectionGuard::Heard(SocketId id, int fd, std::string_view from) {
  const auto followed = followed_.find(id);
  if (followed == followed_.end()) return;
  const auto open = followed->second.open.find(fd);
  if (open == followed->second.open.end()) return;
  if (open->second.peer != from) open->second.peer = from;
  open->second.heard = true;
}

std::optional<double> ConnectionGuard::DeliveryRate(
    SocketId id, std::string_view peer) const {
  const auto followed = followed_.find(id);
  if (followed == followed_.end()) return std::nullopt;
  for (const auto& [fd, connection] : followed->second.open) {
    if (connection.peer == peer) return BusyRate(fd);
  }
  return std::nullopt;
}

void ConnectionGuard::CountRevoked(std::string_view key) {
  ++refused_;
  last_key_ = fmt::format("{}, which is no longer listed", ShortKey(key));
}

// ---- handshakes

bool ConnectionGuard::ServeMonitor(absl::Time now, SocketId id,
                                   Followed& followed) {
  for (int i = 0; i < kEventsPerTurn; ++i) {
    zmq::message_t event;
    zmq::message_t address;
    if (!ReceivePart(followed.monitor, event)) return false;
    if (event.more() && !ReceivePart(followed.monitor, address)) return false;
    uint16_t number = 0;
    uint32_t value = 0;
    if (event.size() != sizeof(number) + sizeof(value)) continue;
    std::memcpy(&number, event.data<char>(), sizeof(number));
    std::memcpy(&value, event.data<char>() + sizeof(number), sizeof(value));
    if (followed.listener) {
      OnListenerEvent(id, followed, number, value);
    } else {
      OnConnectionEvent(now, id, followed, number, value);
    }
  }
  return true;
}

void ConnectionGuard::OnListenerEvent(SocketId id, Followed& listener,
                                      uint16_t event, uint32_t value) {
  switch (event) {
    case ZMQ_EVENT_LISTENING:
      listener.listening_fd = static_cast<int>(value);
      return;
    case ZMQ_EVENT_ACCEPTED:
      listener.open[static_cast<int>(value)] = {};
      BoundUnread(static_cast<int>(value));
      return BoundConnections(listener);
    case ZMQ_EVENT_DISCONNECTED: {
      // libzmq does not report every failed handshake.
      const auto found = listener.open.find(static_cast<int>(value));
      if (found == listener.open.end()) return;
      if (found->second.peer.empty()) {
        ++refused_;
      } else {
        gone_.emplace_back(id, std::move(found->second.peer));
      }
      listener.open.erase(found);
      return BoundConnections(listener);
    }
    default:
      ++refused_;
  }
}

void ConnectionGuard::BoundConnections(Followed& listener) {
  const size_t most = listener.connections_max;
  const size_t now = listener.open.size();
  if (!listener.full && now >= most) {
    listener.full = true;
    SetClosed(listener.listening_fd, true);
    LogWarning(
        "{} connections, as many as its file descriptors allow: others wait "
        "until some have gone; raise the limit (ulimit -n)",
        now);
  } else if (listener.full && now < most - most / 8) {
    listener.full = false;
    SetClosed(listener.listening_fd, false);
    LogInfo("{} connections: new ones are accepted again", now);
  }
}

// Drops connections that send a message without an end. Messages to listeners
// have one part (P-8). All connections together may have received as many bytes
// of unfinished messages as the largest message has; beyond that, the one with
// most of them is dropped.
void ConnectionGuard::BoundMessages(Followed& listener) {
  uint64_t unheard = 0;  // of all connections
  auto largest = listener.open.begin();
  for (auto at = listener.open.begin(); at != listener.open.end(); ++at) {
    Connection& connection = at->second;
    if (std::exchange(connection.heard, false)) {
      // The bytes of an active connection are not asked for: it costs a call.
      connection.received = connection.unheard = 0;
      continue;
    }
    const uint64_t bytes = BytesReceived(at->first).value_or(0);
    const uint64_t before = std::exchange(connection.received, bytes);
    if (before > 0 && bytes > before + kHeartbeatBytes) {
      connection.unheard += bytes - before;
    }
    unheard += connection.unheard;
    if (connection.unheard > largest->second.unheard) largest = at;
  }
  if (unheard <= listener.unheard_bytes_max) return;
  // libzmq notices the shutdown and sends an event.
  shutdown(largest->first, SHUT_RDWR);
  ++refused_;
  LogWarning(
      "dropped a connection that sent {} bytes and no whole message, of {} "
      "bytes that all connections sent so",
      std::exchange(largest->second.unheard, 0), unheard);
}

void ConnectionGuard::OnConnectionEvent(absl::Time now, SocketId id,
                                        Followed& connection, uint16_t event,
                                        uint32_t value) {
  if ((event & kTrials) != 0) {
    connection.ended.reset();
    if (event == ZMQ_EVENT_CONNECTED) {
      connection.fd = static_cast<int>(value);
      NoteLocalHost(connection, value);
    }
  } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
    connection.failure = absl::OkStatus();
    if (!met_.insert(id).second) ++reconnects_;
  } else {
    connection.ended = now;
    connection.fd = -1;
    if ((event & kFailures) != 0) NoteFailure(connection, event, value);
  }
}

// The transport may have closed `fd` since: another event follows then.
void ConnectionGuard::NoteLocalHost(Followed& connection, uint32_t fd) {
  const absl::StatusOr<Address> peer = ParseAddress(connection.peer);
  if (!peer.ok()) return;
  std::string host = LocalAddressOf(static_cast<int>(fd), peer->port);
  if (!host.empty()) connection.local_host = std::move(host);
}

std::vector<SocketId> ConnectionGuard::TakeGivenUp(absl::Time now) {
  std::vector<SocketId> given_up;
  for (auto& [id, followed] : followed_) {
    const absl::Duration wait =
        followed.several ? kNextAddress : kReconnectTimeout;
    if (!followed.ended || now - *followed.ended < wait) continue;
    followed.ended = now;
    given_up.push_back(id);
  }
  return given_up;
}

void ConnectionGuard::NoteFailure(Followed& connection, uint16_t event,
                                  uint32_t value) {
  const std::string& peer = connection.peer;
  switch (event) {
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      connection.failure =
          connection.curve
              ? KeyNotListed(peer, *connection.curve)
              : FailedPrecondition("{} does not let this process in", peer);
      return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
        connection.failure =
            connection.curve
                ? FailedPrecondition(
                      "{} is not encrypted, but this process has keys: start "
                      "the server with --keys, too, or this one without",
                      peer)
                : FailedPrecondition(
                      "{} is encrypted: give this process keys with --keys DIR",
                      peer);
        return;
      }
      [[fallthrough]];
    default:
      // FailedPrecondition of an earlier attempt is more specific: keep it.
      if (absl::IsFailedPrecondition(connection.failure)) return;
      connection.failure =
          Unavailable("{} hung up in the handshake{}", peer,
                      connection.curve ? "; is the server key the right one?"
                                       : "; is it another kind of server?");
  }
}

// Port probes that connect and hang up count too. Without limits they would
// fill the log.
void ConnectionGuard::LogRefusals(absl::Time now) {
  const bool first = OfNewKey() || now - last_log_ > 2 * log_interval_;
  LogWarning(
      "dropped {} connection(s) in the handshake{}{}", refused_ - logged_,
      first ? ""
            : fmt::format(" in {}", absl::FormatDuration(absl::Trunc(
                                        now - last_log_, absl::Seconds(1)))),
      last_key_.empty() ? "" : "; the last key was " + last_key_);
  log_interval_ = first ? kFirstRepeatInterval
                        : std::min(2 * log_interval_, kMaxRepeatInterval);
  last_log_ = now;
  logged_ = refused_;
  if (!last_key_.empty()) logged_key_ = std::exchange(last_key_, {});
}

absl::Status ConnectionGuard::HandshakeFailure(SocketId id) const {
  const auto found = followed_.find(id);
  return found == followed_.end() ? absl::OkStatus() : found->second.failure;
}

std::string ConnectionGuard::LocalHost(SocketId id) const {
  const auto found = followed_.find(id);
  return found == followed_.end() ? "" : found->second.local_host;
}

std::optional<uint64_t> ConnectionGuard::ReceivedBytes(SocketId id) const {
  const auto found = followed_.find(id);
  if (found == followed_.end() || found->second.fd < 0) return std::nullopt;
  return BytesReceived(found->second.fd);
}

}  // namespace feedmill
