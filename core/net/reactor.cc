#include "core/net/reactor.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/large_blocks.h"
#include "core/net/clock.h"
#include "core/net/connection_guard.h"
#include "core/net/log.h"
#include "core/net/process_limits.h"
#include "core/net/release_thread.h"
#include "core/net/shared_event_loop.h"
#include "core/net/unsent_bytes.h"
#include "core/net/zmq_parts.h"
#include "core/process/thread_limit.h"

namespace feedmill {
namespace {

// Limits of one socket per iteration, so that no socket starves the others.
constexpr int kSocketMessagesPerTurn = 64;
constexpr size_t kBytesPerTurn = size_t{16} << 20;
constexpr size_t kPostsMax = 65'536;
// The reactor's thread, two of libzmq, and two of the reactor's owner.
constexpr size_t kThreads = 5;
constexpr size_t kQueuedMax = 64;
// Messages of a peer that a listener reads ahead. The others stay at the peer.
constexpr int kReadAheadMax = 100;
constexpr int kReconnectMs = 20;
constexpr int kReconnectMaxMs = 500;
// Heartbeats to a server that has standbys.
constexpr int kStandbyIntervalMs = 1'000;
constexpr int kStandbyTimeoutMs = 2'000;
// Timeout of one attempt, after which the peer's name is looked up again. The
// kernel alone would wait for two minutes, e.g. for a deleted pod's address.
constexpr int kConnectMs = 2'000;
constexpr int kHandshakeMs = 5'000;
constexpr size_t kBacklogLeast = 16;
constexpr size_t kBacklogMost = 1'024;
// A connection whose data is not acknowledged for this long is dropped.
constexpr int kUnacknowledgedMs = 5'000;
// A peer of a listener that answers no heartbeat is dropped. The shorter the
// timeout relative to the interval, the less often libzmq searches the timers
// of all connections to cancel one.
constexpr int kAliveIntervalMs = 60'000;
constexpr int kAliveTimeoutMs = 30'000;
constexpr absl::Duration kPollMax = absl::Minutes(1);
// Waking up costs about as much as handling a heartbeat. With thousands of
// peers the loop waits a little before each iteration to batch their messages.
// The wait grows with the number of peers and stays short beside the heartbeat
// interval.
constexpr size_t kGatherFrom = 1'000;  // connections
constexpr size_t kGatherLeastMs = 2;
constexpr size_t kGatherMostMs = 5;  // from 10,000 on

int PollMilliseconds(absl::Time now, absl::Time deadline) {
  if (deadline <= now) return 0;
  const absl::Duration wait = std::min(deadline - now, kPollMax);
  return static_cast<int>(
      absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))));
}

absl::Status BindError(int error, const Address& address) {
  const std::string where = address.ToString();
  switch (error) {
    case EADDRINUSE:
      return Unavailable(
          "port {} is taken: something listens at {} already; choose another "
          "port, or 0 for any free one",
          address.port, where);
    case EADDRNOTAVAIL:
    case ENODEV:
      return Unavailable(
          "cannot listen at {}: {} is not an address of this machine", where,
          address.host);
    case EACCES:
      return Unavailable(
          "cannot listen at {}: port {} needs privileges; choose one above "
          "1023",
          where, address.port);
    default:
      return Unavailable("cannot listen at {}: {}", where, zmq_strerror(error));
  }
}

// True if the address has a name that is looked up.
bool HasName(const Address& peer) {
  for (size_t k = 0; k <= peer.others.size(); ++k) {
    if (HostLookup::IsName(peer.AtTurn(k).host)) return true;
  }
  return false;
}

}  // namespace

struct Reactor::State {
  // The peer and the settings of a connection.
  struct Way {
    Address peer;
    Limits limits;
    std::optional<CurveClient> curve;
    size_t turn = 0;       // among the peer's addresses
    bool several = false;  // it had several when it was dialled
  };
  struct QueuedMessage {
    std::vector<Buffer> parts;
    std::shared_ptr<const void> until_sent;
  };
  struct Socket {
    Socket(zmq::socket_t socket, bool listens, uint16_t at,
           std::shared_ptr<AllowList> known)
        : zmq(std::move(socket)),
          listener(listens),
          port(at),
          allowed(std::move(known)),
          fd(zmq.get(zmq::sockopt::fd)) {}
    Socket(zmq::socket_t socket, Way to)
        : Socket(std::move(socket), false, to.peer.port, nullptr) {
      way = std::move(to);
    }

    zmq::socket_t zmq;
    bool listener = false;
    uint16_t port = 0;
    Way way;                              // connections only
    std::deque<QueuedMessage> queued;     // connections only
    std::unique_ptr<UnsentBytes> unsent;  // listeners with a bound only
    std::shared_ptr<AllowList> allowed;   // listeners with keys only
    // libzmq reports a change through this descriptor only once, and any use of
    // the socket may consume the report. So ZMQ_EVENTS is read after each use
    // of the socket and when the descriptor is readable. zmq_poll reads it for
    // all sockets each time, twice, with two system calls each.
    int fd;
    bool used = true;
    bool is_ready = false;  // as of the last query

    void Ask() {
      const int wanted = queued.empty() ? ZMQ_POLLIN : ZMQ_POLLIN | ZMQ_POLLOUT;
      is_ready = (ReadyEvents(zmq) & wanted) != 0;
      used = false;
    }
  };

  State(std::string thread_name, HostLookup::LookUp look_up)
      : name(std::move(thread_name)),
        context(1),
        guard(context),
        names(std::move(look_up)),
        wake_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~State() {
    if (wake_fd >= 0) close(wake_fd);
  }

  void Run();
  // Out of memory ends the process: the events being handled would be lost.
  void Turn(absl::Time until) noexcept;
  void Handle();
  void Await(absl::Time until);
  void RunPosts();
  void RunWatched();
  void Poll(int milliseconds);
  void TakeReady();
  void Gather();
  bool Drain(SocketId id);
  void FlushQueued(Socket& socket);
  void CloseAll();
  void Wake() {
    if (signalled.exchange(true)) return;
    const uint64_t one = 1;
    // Only a full counter refuses the write, and then the wake-up is pending
    // already.
    [[maybe_unused]] const ssize_t written = write(wake_fd, &one, sizeof(one));
  }
  // Raises the process limits that libzmq would abort without. Called before
  // the first socket.
  absl::Status Prepare();
  absl::StatusOr<zmq::socket_t> Open(int type, const Limits& limits, bool v6);
  std::vector<Address> Endpoints(const Address& peer) const;
  void AskNames(const Address& peer);
  void LookAgain();
  absl::StatusOr<zmq::socket_t> Dial(SocketId id, Way& way);
  void Redial(SocketId id);
  bool Knows(Socket& socket, const std::string& key);

  const std::string name;
  zmq::context_t context;
  ConnectionGuard guard;
  HostLookup names;
  const int wake_fd;

  // Used by the thread that runs the loop; before Start, by the thread that
  // builds it.
  std::map<SocketId, Socket> sockets;
  std::set<SocketId> named;  // connections to peers with names
  uint32_t next_socket = 1;
  SocketId first_served;  // the order of service rotates
  std::vector<pollfd> poll_items;
  std::vector<SocketId> ready;
  std::map<int, std::function<void()>> watched;
  std::vector<int> ready_fds;
  ReactorHandler* handler = nullptr;
  absl::Time now = absl::InfinitePast();
  bool prepared = false;
  bool begun = false;  // the first iteration ran
  bool left = false;   // a batch limit was reached: more events may be pending
  std::optional<Sender> sender;

  std::atomic<bool> signalled{false};
  std::atomic<int> linger_ms{0};

  std::mutex mu;
  bool running = false;                      // guarded by mu
  std::vector<std::function<void()>> posts;  // guarded by mu
  std::mutex join_mu;
  std::thread thread;  // guarded by join_mu
  SharedEventLoop turns{[this](absl::Time until) { Turn(until); },
                        [this] { Wake(); }};
};

absl::Status Reactor::State::Prepare() {
  if (prepared) return absl::OkStatus();
  if (wake_fd < 0) {
    return ResourceExhausted(
        "no file descriptor is left for a socket; raise the limit (ulimit -n)");
  }
  FM_RETURN_IF_ERROR(
      CheckThreads(kThreads, "stop other processes of this user"));
  InstallReleaseThread();
  prepared = true;
  return absl::OkStatus();
}

absl::StatusOr<zmq::socket_t> Reactor::State::Open(int type,
                                                   const Limits& limits,
                                                   bool v6) {
  try {
    zmq::socket_t socket(context, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::maxmsgsize, limits.message_bytes_max);
    socket.set(zmq::sockopt::sndhwm, limits.messages_max);
    socket.set(zmq::sockopt::rcvhwm,
               type == ZMQ_ROUTER ? std::min(kReadAheadMax, limits.messages_max)
                                  : limits.messages_max);
    socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
    socket.set(zmq::sockopt::tcp_maxrt, kUnacknowledgedMs);
    socket.set(zmq::sockopt::ipv6, v6);
    return socket;
  } catch (const zmq::error_t& error) {
    return ResourceExhausted("cannot open a socket: {}", error.what());
  }
}

void Reactor::State::Run() {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  turns.Run();
  {
    const std::lock_guard posting(mu);
    running = false;
    posts.clear();
  }
  CloseAll();
}

void Reactor::State::Turn(absl::Time until) noexcept {
  const FreesElsewhere frees;
  // The first iteration does not wait: closures posted before Start are due.
  if (std::exchange(begun, true)) Await(until);
  if (!turns.stopping()) Handle();
}

// Handles all pending events.
void Reactor::State::Handle() {
  now = SteadyNow();
  RunPosts();
  RunWatched();
  guard.Serve(now);
  for (const auto& [id, peer] : guard.TakeGone()) {
    if (const auto listener = sockets.find(id);
        listener != sockets.end() && listener->second.unsent != nullptr) {
      listener->second.unsent->Forget(peer);
    }
    handler->OnPeerGone(now, id, peer);
  }
  for (const SocketId id : guard.TakeGivenUp(now)) Redial(id);
  LookAgain();
  left = false;
  for (const SocketId id : ready) {
    left = Drain(id) || left;
  }
  handler->OnTurn(now);
  for (auto& [id, socket] : sockets) FlushQueued(socket);
}

void Reactor::State::Await(absl::Time until) {
  if (!left && guard.connections() >= kGatherFrom) Gather();
  const absl::Time deadline = std::min(until, handler->NextDeadline());
  Poll(left ? 0 : PollMilliseconds(SteadyNow(), deadline));
}

void Reactor::State::RunPosts() {
  signalled.store(false);
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mu);
    work.swap(posts);
  }
  for (const auto& run : work) run();
}

void Reactor::State::RunWatched() {
  for (const int fd : ready_fds) {
    const auto found = watched.find(fd);
    if (found == watched.end()) continue;
    const std::function<void()> run = found->second;  // it may unwatch itself
    run();
  }
}

// Waits for more messages before the next iteration, unless this process posts
// work.
void Reactor::State::Gather() {
  const size_t milliseconds = std::clamp(guard.connections() / 2 / kGatherFrom,
                                         kGatherLeastMs, kGatherMostMs);
  pollfd wake{wake_fd, POLLIN, 0};
  poll(&wake, 1, static_cast<int>(milliseconds));
}

void Reactor::State::Poll(int milliseconds) {
  poll_items.clear();
  poll_items.push_back({wake_fd, POLLIN, 0});
  bool wait = !guard.stirred();
  for (auto& [id, socket] : sockets) {
    socket.is_ready = false;
    if (socket.used) socket.Ask();
    wait = wait && !socket.is_ready;
    poll_items.push_back({socket.fd, POLLIN, 0});
  }
  for (const auto& [fd, run] : watched) poll_items.push_back({fd, POLLIN, 0});
  guard.AddPollItems(poll_items);
  // An interrupted poll needs no handling: the next iteration polls again.
  poll(poll_items.data(), poll_items.size(), wait ? milliseconds : 0);
  TakeReady();
}

// Reads the poll results, in the order in which Poll listed the descriptors.
void Reactor::State::TakeReady() {
  ready.clear();
  ready_fds.clear();
  auto item = poll_items.begin();
  if ((item++)->revents != 0) {
    uint64_t counter = 0;
    [[maybe_unused]] const ssize_t got =
        read(wake_fd, &counter, sizeof(counter));
  }
  for (auto& [id, socket] : sockets) {
    if ((item++)->revents != 0 && !socket.is_ready) socket.Ask();
    if (socket.is_ready) ready.push_back(id);
  }
  for (size_t k = 0; k < watched.size(); ++k, ++item) {
    if (item->revents != 0) ready_fds.push_back(item->fd);
  }
  guard.Stir(std::any_of(item, poll_items.end(), [](const pollfd& monitor) {
    return monitor.revents != 0;
  }));
  // The socket served first in the last iteration is last in this one.
  const auto after = std::upper_bound(ready.begin(), ready.end(), first_served);
  std::rotate(ready.begin(), after, ready.end());
  if (!ready.empty()) first_served = ready.front();
}

// Returns true if more messages may be pending.
bool Reactor::State::Drain(SocketId id) {
  std::string from;
  Origin origin;
  size_t bytes = 0;
  for (int i = 0; i < kSocketMessagesPerTurn && bytes < kBytesPerTurn; ++i) {
    // Looked up for each message: the handler may close sockets.
    const auto found = sockets.find(id);
    if (found == sockets.end()) return false;
    std::vector<Buffer> parts;
    Socket& socket = found->second;
    socket.used = true;
    origin = {.names_user = socket.allowed != nullptr, .user = {}, .fd = -1};
    switch (ReceiveParts(socket.zmq, socket.listener, from, parts,
                         socket.listener ? &origin : nullptr)) {
      case ReceiveResult::kNothing:
        socket.used = false;  // the socket's events were just read
        return false;
      case ReceiveResult::kTooManyParts:
        LogWarning("dropped a message of more than {} parts", kPartsMax);
        break;
      case ReceiveResult::kMessage:
        for (const Buffer& part : parts) bytes += part.size();
        if (socket.listener) guard.Heard(id, origin.fd, from);
        if (!Knows(socket, origin.user)) break;
        handler->OnMessage(now, id, from, std::move(parts));
        break;
    }
  }
  return true;
}

// Sets `sender`. Returns false if its key is no longer listed.
bool Reactor::State::Knows(Socket& socket, const std::string& key) {
  sender.reset();
  if (socket.allowed == nullptr) return true;
  const std::optional<Role> role = socket.allowed->RoleOf(key);
  if (!role.has_value()) {
    guard.CountRevoked(key);
    return false;
  }
  sender = Sender{*role, key};
  return true;
}

void Reactor::State::FlushQueued(Socket& socket) {
  socket.used = socket.used || !socket.queued.empty();
  while (!socket.queued.empty() &&
         SendParts(socket.zmq, /*routed=*/false, "",
                   socket.queued.front().parts,
                   socket.queued.front().until_sent)) {
    socket.queued.pop_front();
  }
}

void Reactor::State::CloseAll() {
  for (auto& [id, socket] : sockets) {
    FlushQueued(socket);
    socket.zmq.set(zmq::sockopt::linger,
                   socket.listener ? 0 : linger_ms.load());
    guard.Forget(id, socket.zmq);
  }
  sockets.clear();
  guard.Close();
}

Reactor::Reactor(std::string name, HostLookup::LookUp look_up)
    : state_(std::make_unique<State>(std::move(name), std::move(look_up))) {}

Reactor::~Reactor() {
  Stop(absl::Milliseconds(state_->linger_ms.load()));
  Join();
}

absl::StatusOr<SocketId> Reactor::Listen(
    const std::string& host, uint16_t port, Limits limits,
    const std::optional<CurveServer>& curve) {
  FM_ASSIGN_OR_RETURN(const std::string numeric, ResolveHost(host));
  const Address address{numeric, port};
  const bool v6 = numeric.find(':') != numeric.npos;
  FM_RETURN_IF_ERROR(state_->Prepare());
  FM_ASSIGN_OR_RETURN(zmq::socket_t socket,
                      state_->Open(ZMQ_ROUTER, limits, v6));
  const SocketId id(state_->next_socket++);
  if (limits.connections_max == 0) limits.connections_max = ConnectionsMax();
  FM_RETURN_IF_ERROR(state_->guard.FollowListener(id, socket, limits));
  const absl::Status watched = curve ? state_->guard.Secure(id, socket, *curve)
                                     : state_->guard.LeaveOpen(socket);
  if (!watched.ok()) {
    state_->guard.Forget(id, socket);
    return watched;
  }
  try {
    // Report messages to absent peers, and do not let a peer take over the
    // routing id of another.
    socket.set(zmq::sockopt::router_mandatory, true);
    socket.set(zmq::sockopt::router_handover, false);
    // Keep the backlog short: connections in it bypass the connection limit.
    socket.set(zmq::sockopt::backlog,
               static_cast<int>(std::clamp(limits.connections_max / 16,
                                           kBacklogLeast, kBacklogMost)));
    socket.set(zmq::sockopt::heartbeat_ivl, kAliveIntervalMs);
    socket.set(zmq::sockopt::heartbeat_timeout, kAliveTimeoutMs);
    socket.bind(address.ToString());
    const std::string endpoint = socket.get(zmq::sockopt::last_endpoint);
    FM_ASSIGN_OR_RETURN(const Address bound, ParseAddress(endpoint));
    State::Socket listener(std::move(socket), true, bound.port,
                           curve ? curve->allowed : nullptr);
    if (limits.unsent_bytes_max < UINT64_MAX) {
      listener.unsent = std::make_unique<UnsentBytes>(limits.unsent_bytes_max);
    }
    state_->sockets.emplace(id, std::move(listener));
    return id;
  } catch (const zmq::error_t& error) {
    state_->guard.Forget(id, socket);
    return BindError(error.num(), address);
  }
}

uint16_t Reactor::PortOf(SocketId listener) const {
  return state_->sockets.at(listener).port;
}

absl::StatusOr<SocketId> Reactor::Connect(
    const Address& peer, Limits limits,
    const std::optional<CurveClient>& curve) {
  FM_RETURN_IF_ERROR(state_->Prepare());
  const SocketId id(state_->next_socket++);
  State::Way way{peer, limits, curve};
  FM_ASSIGN_OR_RETURN(zmq::socket_t socket, state_->Dial(id, way));
  if (HasName(peer)) state_->named.insert(id);
  state_->sockets.emplace(id, State::Socket(std::move(socket), std::move(way)));
  return id;
}

// Returns the peer's endpoints. A name that has several addresses is replaced
// by them: libzmq would try the first only, each time.
std::vector<Address> Reactor::State::Endpoints(const Address& peer) const {
  std::vector<Address> endpoints;
  for (size_t k = 0; k <= peer.others.size(); ++k) {
    const Address one = peer.AtTurn(k);
    const std::vector<std::string> found = names.Found(one.host);
    if (found.size() < 2) endpoints.push_back(one);
    for (size_t f = 0; found.size() > 1 && f < found.size(); ++f) {
      endpoints.push_back({found[f], one.port});
    }
  }
  return endpoints;
}

// Begins to look up the peer's names, whose addresses may have changed.
void Reactor::State::AskNames(const Address& peer) {
  for (size_t k = 0; k <= peer.others.size(); ++k) {
    names.Ask(SteadyNow(), peer.AtTurn(k).host);
  }
}

// Tries further addresses of names whose connections cannot be made.
void Reactor::State::LookAgain() {
  for (const SocketId id : named) {
    const auto socket = sockets.find(id);
    if (socket == sockets.end() || guard.IsMade(id)) continue;
    const Way& way = socket->second.way;
    AskNames(way.peer);
    if (!way.several && Endpoints(way.peer).size() > 1) Redial(id);
  }
}

absl::StatusOr<zmq::socket_t> Reactor::State::Dial(SocketId id, Way& way) {
  AskNames(way.peer);
  const std::vector<Address> endpoints = Endpoints(way.peer);
  const Address peer = endpoints[way.turn % endpoints.size()];
  const bool several = endpoints.size() > 1;
  way.several = several;
  const bool v6 = peer.host.find(':') != peer.host.npos;
  FM_ASSIGN_OR_RETURN(zmq::socket_t socket, Open(ZMQ_DEALER, way.limits, v6));
  if (way.curve)
    FM_RETURN_IF_ERROR(ConnectionGuard::Secure(socket, *way.curve));
  FM_RETURN_IF_ERROR(
      guard.FollowConnection(id, socket, peer.ToString(), way.curve, several));
  try {
    // Send only over an established connection: a message queued for an absent
    // peer would be out of date when it returns.
    socket.set(zmq::sockopt::immediate, true);
    if (several) {
      // Redial tries the next address, also of a server that stands still.
      socket.set(zmq::sockopt::reconnect_ivl, -1);
      socket.set(zmq::sockopt::heartbeat_ivl, kStandbyIntervalMs);
      socket.set(zmq::sockopt::heartbeat_timeout, kStandbyTimeoutMs);
    } else {
      socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
      socket.set(zmq::sockopt::reconnect_ivl_max, kReconnectMaxMs);
    }
    socket.set(zmq::sockopt::connect_timeout, kConnectMs);
    socket.connect(peer.ForConnect().ToString());
  } catch (const zmq::error_t& error) {
    guard.Forget(id, socket);
    return InvalidArgument("cannot connect to {}: {}", peer.ToString(),
                           error.what());
  }
  return socket;
}

// Replaces a socket that libzmq never reconnects; goes to the peer's next
// address.
void Reactor::State::Redial(SocketId id) {
  const auto found = sockets.find(id);
  if (found == sockets.end()) return;
  Socket& before = found->second;
  ConnectionGuard::Unfollow(before.zmq);
  ++before.way.turn;
  absl::StatusOr<zmq::socket_t> dialled = Dial(id, before.way);
  if (!dialled.ok()) {
    LogWarning(
        "cannot connect to {} again, the next attempt is in a second: {}",
        before.way.peer.ToString(), ErrorText(dialled.status()));
    return;
  }
  Socket after(*std::move(dialled), std::move(before.way));
  after.queued = std::move(before.queued);
  before = std::move(after);
}

absl::Status Reactor::HandshakeFailure(SocketId connection) const {
  return state_->guard.HandshakeFailure(connection);
}

std::string Reactor::LocalHost(SocketId connection) const {
  return state_->guard.LocalHost(connection);
}

std::optional<uint64_t> Reactor::ReceivedBytes(SocketId connection) const {
  return state_->guard.ReceivedBytes(connection);
}

const std::optional<Reactor::Sender>& Reactor::sender() const {
  return state_->sender;
}

std::optional<double> Reactor::DeliveryRate(SocketId listener,
                                            std::string_view peer) const {
  return state_->guard.DeliveryRate(listener, peer);
}

uint64_t Reactor::refused() const { return state_->guard.refused(); }

uint64_t Reactor::reconnects() const { return state_->guard.reconnects(); }

void Reactor::Close(SocketId socket, absl::Duration linger) {
  const auto found = state_->sockets.find(socket);
  if (found == state_->sockets.end()) return;
  found->second.zmq.set(zmq::sockopt::linger,
                        static_cast<int>(absl::ToInt64Milliseconds(linger)));
  state_->guard.Forget(socket, found->second.zmq);
  state_->named.erase(socket);
  state_->sockets.erase(found);
}

void Reactor::Watch(int fd, std::function<void()> ready) {
  state_->watched[fd] = std::move(ready);
}

void Reactor::Unwatch(int fd) { state_->watched.erase(fd); }

Reactor::Sent Reactor::Send(SocketId id, std::string_view to,
                            const std::vector<Buffer>& parts,
                            std::shared_ptr<const void> until_sent) {
  const auto found = state_->sockets.find(id);
  if (found == state_->sockets.end()) return Sent::kNo;
  State::Socket& socket = found->second;
  state_->FlushQueued(socket);
  socket.used = true;
  if (socket.unsent != nullptr) {
    uint64_t bytes = 0;
    for (const Buffer& part : parts) bytes += part.size();
    if (bytes >= UnsentBytes::kCountedBytes) {
      until_sent = socket.unsent->Take(to, bytes);
      if (until_sent == nullptr) return Sent::kNo;
    }
  }
  if (socket.queued.empty() &&
      SendParts(socket.zmq, socket.listener, to, parts, until_sent)) {
    return Sent::kYes;
  }
  if (socket.listener) return Sent::kNo;
  if (socket.queued.size() == kQueuedMax) socket.queued.pop_front();
  socket.queued.push_back({parts, std::move(until_sent)});
  return Sent::kQueued;
}

uint64_t Reactor::UnsentBytesAt(SocketId listener) const {
  const auto& unsent = state_->sockets.at(listener).unsent;
  return unsent == nullptr ? 0 : unsent->bytes();
}

void Reactor::Start(ReactorHandler* handler) {
  const std::lock_guard lock(state_->join_mu);
  FM_CHECK(!state_->thread.joinable());
  state_->handler = handler;
  {
    const std::lock_guard running(state_->mu);
    state_->running = true;
  }
  state_->thread = std::thread([state = state_.get()] { state->Run(); });
}

bool Reactor::Post(std::function<void()> work) {
  {
    const std::lock_guard lock(state_->mu);
    if (!state_->running || state_->posts.size() >= kPostsMax) return false;
    state_->posts.push_back(std::move(work));
  }
  state_->Wake();
  return true;
}

absl::Time Reactor::now() const { return state_->now; }

void Reactor::Wake() { state_->Wake(); }

bool Reactor::Turn(absl::Time until) { return state_->turns.Take(until); }

void Reactor::Stop(absl::Duration linger) {
  state_->linger_ms.store(static_cast<int>(absl::ToInt64Milliseconds(linger)));
  state_->turns.Stop();
}

void Reactor::Join() {
  const std::lock_guard lock(state_->join_mu);
  if (!state_->thread.joinable()) return;
  state_->thread.join();
  // The loop closed all sockets. Ends the threads of libzmq: the reactor may
  // live on, for example in a stopped server that Python has not collected.
  state_->context.close();
}

}  // namespace feedmill
