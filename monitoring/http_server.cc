#include "monitoring/http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "monitoring/handler_pool.h"

namespace feedmill {
namespace {

// A burst of clients beyond the backlog loses connections, and these try again
// after 1, 3 and 7 s.
constexpr int kBacklog = 1024;
constexpr size_t kReceiveBytes = size_t{16} << 10;
constexpr absl::Duration kRequestTimeout = absl::Seconds(5);
constexpr absl::Duration kAnswerTimeout = absl::Seconds(10);
// A client may still send when its answer is complete. A connection that is
// closed with unread bytes is reset, and the answer may be lost.
constexpr absl::Duration kCloseTimeout = absl::Seconds(1);
constexpr absl::Duration kAcceptRetry = absl::Milliseconds(100);
// Time to send a request that nothing may take: without it, a burst of
// connections drops a client between its connection and its request.
constexpr absl::Duration kGrace = absl::Milliseconds(100);

static_assert(HttpServer::kConnectionsMax >
                  2 * HttpServer::kWaitingMax + HandlerPool::kThreads,
              "a connection must always be left that can be dropped");

HttpReply Busy() {
  return {.status = 503,
          .body = "the server has too many requests\n",
          .headers = {{"Retry-After", "1"}}};
}

HttpReply Answered(const HttpRoute& route, const ServedRequest& request) {
  try {
    return route.handler(request);
  } catch (const std::bad_alloc&) {
    return {.status = 503, .body = "cannot answer: out of memory\n"};
  } catch (const std::exception&) {
    return {.status = 500, .body = "cannot answer\n"};
  }
}

// Returns a socket that listens at the address; -1 if there is none.
int ListenAt(const std::string& numeric, uint16_t port) {
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(numeric.c_str(), std::to_string(port).c_str(), &wanted,
                  &found) != 0) {
    return -1;
  }
  const int fd =
      socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  const bool listens = fd >= 0 &&
                       bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                       listen(fd, kBacklog) == 0;
  freeaddrinfo(found);
  if (!listens && fd >= 0) close(fd);
  return listens ? fd : -1;
}

uint16_t PortOf(int fd) {
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length);
  return ntohs(own.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(own).sin_port);
}

}  // namespace

// The connections, and the threads that serve them.
class HttpServer::Loop {
 public:
  Loop(int listener, int wake, const HttpRoutes& routes, EventStreams* streams)
      : listener_(listener),
        wake_(wake),
        routes_(routes),
        streams_(streams),
        pool_(std::make_unique<HandlerPool>(kWaitingMax)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Loop() {
    ends_ = true;
    Wake();
    thread_.join();
    pool_.reset();
    for (const auto& [id, connection] : connections_) close(connection.fd);
    close(listener_);
    close(wake_);
  }

 private:
  enum class Phase {
    kRequest,  // its request comes
    kHandler,  // a handler has its request
    kAnswer,   // its answer is sent
    kClose,    // its client has the answer, and should close it
  };
  struct Connection {
    int fd = -1;
    absl::Time accepted{};
    absl::Time deadline = absl::InfiniteFuture();
    Phase phase = Phase::kRequest;
    HttpRequestReader reader{};
    std::string answer{};
    size_t sent = 0;  // bytes of the answer
  };
  // By age.
  using Connections = std::map<uint64_t, Connection>;
  using Place = Connections::iterator;

  void Wake() const {
    const uint64_t one = 1;
    if (write(wake_, &one, sizeof(one)) < 0) return;  // already awake
  }

  void Run() {
    pthread_setname_np(pthread_self(), "fm-http");
    while (!ends_) {
      WaitForWork();
      Accept();
      TakeAnswers();
      DropLate();
    }
  }

  // Waits until a connection can continue, and continues those that can.
  void WaitForWork() {
    absl::Time until = accept_at_;
    std::vector<pollfd> items{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    if (accept_at_ < absl::InfiniteFuture()) items.back().fd = -1;
    std::vector<uint64_t> ids;
    for (const auto& [id, connection] : connections_) {
      until = std::min(until, connection.deadline);
      if (connection.phase == Phase::kHandler) continue;
      const bool sends = connection.phase == Phase::kAnswer;
      items.push_back(
          {connection.fd, static_cast<short>(sends ? POLLOUT : POLLIN), 0});
      ids.push_back(id);
    }
    int ms = -1;
    if (until < absl::InfiniteFuture()) {
      const auto left = std::max(until - SteadyNow(), absl::ZeroDuration());
      ms = static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
    }
    if (poll(items.data(), items.size(), ms) <= 0) return;
    if (items[0].revents != 0) {
      uint64_t count = 0;
      if (read(wake_, &count, sizeof(count)) < 0) return;
    }
    for (size_t k = 0; k < ids.size(); ++k) {
      if (items[k + 2].revents == 0) continue;
      const auto at = connections_.find(ids[k]);  // end: dropped meanwhile
      if (at != connections_.end()) Continue(at);
    }
  }

  // Takes new connections. A client that waits behind slow ones sees them, so
  // it waits for the grace of the oldest one at most.
  void Accept() {
    if (SteadyNow() >= accept_at_) accept_at_ = absl::InfiniteFuture();
    if (accept_at_ < absl::InfiniteFuture()) return;
    for (int k = 0; k < kBacklog; ++k) {
      const absl::Time now = SteadyNow();
      if (connections_.size() >= kConnectionsMax) {
        accept_at_ = OldestToDrop()->second.accepted + kGrace;
        if (now < accept_at_) return;
        accept_at_ = absl::InfiniteFuture();
      }
      const int fd =
          accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) return AfterAcceptError(errno);
      if (connections_.size() >= kConnectionsMax) DropOldest();
      const auto at = connections_.emplace(++last_id_, Connection{}).first;
      at->second.fd = fd;
      at->second.accepted = now;
      at->second.deadline = now + kRequestTimeout;
      Continue(at);  // most requests come with the connection
    }
  }

  void AfterAcceptError(int error) {
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return;
    // No descriptor is left, say.
    DropOldest();
    accept_at_ = SteadyNow() + kAcceptRetry;
  }

  void Continue(Place at) {
    switch (at->second.phase) {
      case Phase::kRequest:
        return Receive(at);
      case Phase::kAnswer:
        return Send(at);
      case Phase::kClose: {
        char bytes[kReceiveBytes];
        const ssize_t got = recv(at->second.fd, bytes, sizeof(bytes), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
          Drop(at);
        }
        return;
      }
      case Phase::kHandler:
        return;
    }
  }

  void Receive(Place at) {
    Connection& connection = at->second;
    char bytes[kReceiveBytes];
    const ssize_t got = recv(connection.fd, bytes, sizeof(bytes), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return Drop(at);
    switch (connection.reader.Take({bytes, static_cast<size_t>(got)})) {
      case HttpRequestReader::State::kIncomplete:
        return;
      case HttpRequestReader::State::kRefused:
        return Answer(at, ReplyBytes(connection.reader.refusal()));
      case HttpRequestReader::State::kComplete:
        return Handle(at);
    }
  }

  void Handle(Place at) {
    ServedRequest request = std::move(at->second.reader.request());
    const auto found = routes_.Find(request);
    const bool has_body = request.method != "HEAD";
    if (const auto* refusal = std::get_if<HttpReply>(&found)) {
      return Answer(at, ReplyBytes(*refusal, has_body));
    }
    const HttpRoute& route = *std::get<const HttpRoute*>(found);
    switch (route.kind) {
      case HttpRoute::Kind::kConstant:
        return Answer(at, ReplyBytes(Answered(route, request), has_body));
      case HttpRoute::Kind::kStream:
        return BeginStream(at);
      case HttpRoute::Kind::kProbe:
      case HttpRoute::Kind::kAnswer:
        break;
    }
    at->second.phase = Phase::kHandler;
    at->second.deadline = absl::InfiniteFuture();
    const bool taken = pool_->Add(
        route.kind == HttpRoute::Kind::kProbe,
        [this, id = at->first, &route, has_body, asked = std::move(request)] {
          std::string answer = ReplyBytes(Answered(route, asked), has_body);
          {
            const std::lock_guard lock(mu_);
            answers_.emplace_back(id, std::move(answer));
          }
          Wake();
        });
    if (!taken) Answer(at, ReplyBytes(Busy(), has_body));
  }

  void BeginStream(Place at) {
    if (streams_->Reserve()) {
      streams_->Add(at->second.fd);
      connections_.erase(at);
      return;
    }
    HttpReply refusal = Busy();
    refusal.body = "as many streams as there may be are open: " +
                   std::to_string(EventStreams::kStreamsMax) +
                   "; close a page, or ask /api/status\n";
    Answer(at, ReplyBytes(refusal));
  }

  void TakeAnswers() {
    std::vector<std::pair<uint64_t, std::string>> answers;
    {
      const std::lock_guard lock(mu_);
      answers.swap(answers_);
    }
    for (auto& [id, answer] : answers) {
      // A connection with a handler is never dropped.
      Answer(connections_.find(id), std::move(answer));
    }
  }

  void Answer(Place at, std::string answer) {
    Connection& connection = at->second;
    connection.reader = HttpRequestReader();
    connection.answer = std::move(answer);
    unread_bytes_ += connection.answer.size();
    connection.phase = Phase::kAnswer;
    connection.deadline = SteadyNow() + kAnswerTimeout;
    while (unread_bytes_ > kUnreadBytesMax && DropOldestAnswer(at)) continue;
    Send(at);
  }

  void Send(Place at) {
    Connection& connection = at->second;
    while (connection.sent < connection.answer.size()) {
      const ssize_t sent =
          send(connection.fd, connection.answer.data() + connection.sent,
               connection.answer.size() - connection.sent, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0) return Drop(at);
      connection.sent += static_cast<size_t>(sent);
    }
    DropAnswer(connection);
    shutdown(connection.fd, SHUT_WR);
    connection.phase = Phase::kClose;
    connection.deadline = SteadyNow() + kCloseTimeout;
  }

  void DropAnswer(Connection& connection) {
    unread_bytes_ -= connection.answer.size();
    connection.answer = std::string();
    connection.sent = 0;
  }

  void Drop(Place at) {
    DropAnswer(at->second);
    close(at->second.fd);
    connections_.erase(at);
  }

  // A connection that a handler has is not dropped. If there are as many as may
  // be, there is another one: see kConnectionsMax.
  Place OldestToDrop() {
    return std::find_if(
        connections_.begin(), connections_.end(),
        [](const auto& each) { return each.second.phase != Phase::kHandler; });
  }

  void DropOldest() {
    const auto at = OldestToDrop();
    if (at != connections_.end()) Drop(at);
  }

  // Drops the oldest connection before `newest` whose answer is not read. False
  // if there is none.
  bool DropOldestAnswer(Place newest) {
    const auto at =
        std::find_if(connections_.begin(), connections_.end(), [&](auto& each) {
          return &each != &*newest && each.second.phase == Phase::kAnswer;
        });
    if (at == connections_.end()) return false;
    Drop(at);
    return true;
  }

  void DropLate() {
    const absl::Time now = SteadyNow();
    std::vector<uint64_t> late;
    for (const auto& [id, connection] : connections_) {
      if (connection.deadline <= now) late.push_back(id);
    }
    for (const uint64_t id : late) {
      const auto at = connections_.find(id);  // end: dropped meanwhile
      if (at == connections_.end()) continue;
      if (at->second.phase != Phase::kRequest) {
        Drop(at);
        continue;
      }
      Answer(at, ReplyBytes(
                     {.status = 408, .body = "the request took too long\n"}));
    }
  }

  const int listener_;
  const int wake_;
  const HttpRoutes& routes_;
  EventStreams* const streams_;
  std::unique_ptr<HandlerPool> pool_;
  std::atomic<bool> ends_ = false;
  std::mutex mu_;
  std::vector<std::pair<uint64_t, std::string>> answers_;  // guarded by mu_

  // Used by the thread only.
  Connections connections_;
  uint64_t last_id_ = 0;
  size_t unread_bytes_ = 0;                        // of all answers
  absl::Time accept_at_ = absl::InfiniteFuture();  // finite: not before
  std::thread thread_;
};

HttpServer::HttpServer() = default;
HttpServer::~HttpServer() { Stop(); }

void HttpServer::Get(const std::string& pattern, HttpHandler handler) {
  routes_.Add({"GET", pattern, HttpRoute::Kind::kAnswer, std::move(handler)});
}

void HttpServer::Post(const std::string& pattern, HttpHandler handler) {
  routes_.Add({"POST", pattern, HttpRoute::Kind::kAnswer, std::move(handler)});
}

void HttpServer::Probe(const std::string& path, HttpHandler handler) {
  routes_.Add({"GET", path, HttpRoute::Kind::kProbe, std::move(handler)});
}

void HttpServer::Constant(const std::string& path, HttpReply reply) {
  routes_.Add(
      {"GET", path, HttpRoute::Kind::kConstant,
       [reply = std::move(reply)](const ServedRequest&) { return reply; }});
}

void HttpServer::Stream(const std::string& path, EventStreams::Source source) {
  streams_ = std::make_unique<EventStreams>(std::move(source));
  routes_.Add({"GET", path, HttpRoute::Kind::kStream, nullptr});
}

absl::Status HttpServer::Start(const std::string& host, uint16_t port) {
  FM_ASSIGN_OR_RETURN(const std::string numeric, ResolveHost(host));
  if (IsLoopback(numeric)) routes_.RequireLoopbackHost();
  const int listener = ListenAt(numeric, port);
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener < 0 || wake < 0) {
    if (listener >= 0) close(listener);
    if (wake >= 0) close(wake);
    return Unavailable(
        "cannot listen at {}:{}; the port is taken, or the host is not of this "
        "machine",
        host, port);
  }
  address_ = "http://" + Address{host, PortOf(listener)}.ToString().substr(
                             std::string_view("tcp://").size());
  loop_ = std::make_unique<Loop>(listener, wake, routes_, streams_.get());
  return absl::OkStatus();
}

void HttpServer::Stop() {
  loop_.reset();
  streams_.reset();
}

}  // namespace feedmill
