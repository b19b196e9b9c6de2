#include "monitoring/http_server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/clock.h"

namespace feedmill {
namespace {

constexpr size_t kHttpThreads = 4;
constexpr size_t kWaitingMax = 64;
constexpr int kBacklog = 128;
constexpr size_t kRequestBytesMax = 64 << 10;
constexpr absl::Duration kReadTime = absl::Seconds(5);
constexpr absl::Duration kConnectionTime = absl::Seconds(10);

// Set on the accepting thread while it refuses a connection.
thread_local bool turns_away = false;
// Set by a handler whose connection becomes a stream: httplib's own answer is
// then discarded.
thread_local bool becomes_stream = false;

// Thread pool for connections. If the queue is full, the accepting thread
// refuses the connection itself.
class BoundedPool : public httplib::TaskQueue {
 public:
  BoundedPool() {
    for (size_t k = 0; k < kHttpThreads; ++k) {
      threads_.emplace_back([this] { Run(); });
    }
  }
  void enqueue(std::function<void()> work) override {
    {
      const std::lock_guard lock(mu_);
      if (waiting_.size() < kWaitingMax) {
        waiting_.push_back(std::move(work));
        changed_.notify_one();
        return;
      }
    }
    turns_away = true;
    work();
    turns_away = false;
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mu_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Run() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mu_);
        changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        work = std::move(waiting_.front());
        waiting_.pop_front();
      }
      work();
    }
  }

  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  // guarded by mu_
  bool ends_ = false;                          // guarded by mu_
  std::vector<std::thread> threads_;
};

// A connection with a total deadline: a client that sends single bytes slowly
// cannot extend it.
class TimedStream : public httplib::Stream {
 public:
  explicit TimedStream(socket_t fd) : fd_(fd), begun_(SteadyNow()) {}

  bool is_readable() const override {
    return Await(POLLIN, begun_ + kReadTime);
  }
  bool is_writable() const override {
    return Await(POLLOUT, begun_ + kConnectionTime);
  }
  ssize_t read(char* bytes, size_t size) override {
    if (!is_readable() || received_ > kRequestBytesMax) return -1;
    const ssize_t got = recv(fd_, bytes, size, 0);
    received_ += got > 0 ? static_cast<size_t>(got) : 0;
    return got;
  }
  ssize_t write(const char* bytes, size_t size) override {
    if (becomes_stream) return static_cast<ssize_t>(size);
    if (!is_writable()) return -1;
    return send(fd_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return fd_; }

 private:
  bool Await(short events, absl::Time until) const {
    for (;;) {
      const absl::Duration left = until - SteadyNow();
      if (left <= absl::ZeroDuration()) return false;
      pollfd item{fd_, events, 0};
      const auto ms = static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
      const int ready = poll(&item, 1, ms);
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  const socket_t fd_;
  const absl::Time begun_;
  size_t received_ = 0;
};

class TimedServer : public httplib::Server {
 public:
  explicit TimedServer(const std::unique_ptr<EventStreams>& streams)
      : streams_(streams) {}

  // httplib lets 5 connections wait to be accepted. Of a burst of more, the
  // kernel drops some, and they try again after 1, 3 and 7 s. REQUIRES: bound.
  void LetMoreWait() { ::listen(svr_sock_, kBacklog); }

 private:
  bool process_and_close_socket(socket_t fd) override {
    if (turns_away) {
      constexpr std::string_view kBusy =
          "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
          "Content-Length: 0\r\n\r\n";
      send(fd, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    } else {
      TimedStream stream(fd);
      bool closed = false;
      process_request(stream, /*close_connection=*/true, closed, nullptr);
      if (std::exchange(becomes_stream, false)) {
        streams_->Add(fd);
        return true;
      }
    }
    shutdown(fd, SHUT_RDWR);
    close(fd);
    return true;
  }

  const std::unique_ptr<EventStreams>& streams_;
};

// "localhost:9090" → "localhost", "[::1]:9090" → "::1".
std::string HostName(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

constexpr char kPlain[] = "text/plain; charset=utf-8";

// True if the browser reports that a page of another origin sent the request.
bool IsOfAnotherOrigin(const httplib::Request& request) {
  const std::string site = request.get_header_value("Sec-Fetch-Site");
  return !site.empty() && site != "same-origin" && site != "none";
}

httplib::Server::Handler Adapted(HttpServer::Handler handler) {
  return [handler = std::move(handler)](const httplib::Request& request,
                                        httplib::Response& response) {
    HttpReply reply =
        handler({request.matches.size() > 1 ? request.matches[1].str() : "",
                 request.body, [&request](const std::string& name) {
                   return request.get_header_value(name.c_str());
                 }});
    response.status = reply.status;
    bool packed = false;
    for (const auto& [name, value] : reply.headers) {
      response.set_header(name, value);
      packed = packed || name == "Content-Encoding";
    }
    if (!packed) {
      return response.set_content(std::move(reply.body), reply.type.c_str());
    }
    // A content provider, because httplib would compress a text body again.
    const size_t size = reply.body.size();
    response.set_content_provider(
        size, reply.type,
        [body = std::move(reply.body)](size_t at, size_t length,
                                       httplib::DataSink& sink) {
          return sink.write(body.data() + at, length);
        });
  };
}

// Replaces httplib's socket options, which would let two servers share a port.
void SetOptions(socket_t fd) {
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

}  // namespace

class HttpServer::Impl {
 public:
  std::unique_ptr<EventStreams> streams;  // null: no stream is served
  const std::unique_ptr<httplib::Server> server =
      std::make_unique<TimedServer>(streams);
  std::thread thread;
};

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {
  impl_->server->new_task_queue = [] { return new BoundedPool(); };
  impl_->server->set_socket_options(SetOptions);
  impl_->server->set_payload_max_length(kRequestBytesMax);
  impl_->server->set_default_headers(
      {{"Cache-Control", "no-store"},
       {"X-Content-Type-Options", "nosniff"},
       {"Cross-Origin-Resource-Policy", "same-origin"}});
  impl_->server->set_exception_handler([](const httplib::Request&,
                                          httplib::Response& response,
                                          std::exception_ptr) {
    response.status = 500;
    response.set_content("cannot answer: out of memory\n", "text/plain");
  });
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Get(const std::string& pattern, Handler handler) {
  impl_->server->Get(pattern, Adapted(std::move(handler)));
}

void HttpServer::Post(const std::string& pattern, Handler handler) {
  impl_->server->Post(pattern, Adapted(std::move(handler)));
}

void HttpServer::Stream(const std::string& path, EventStreams::Source source) {
  impl_->streams = std::make_unique<EventStreams>(std::move(source));
  impl_->server->Get(path, [streams = impl_->streams.get()](
                               const httplib::Request& request,
                               httplib::Response& response) {
    if (request.method == "GET" && streams->Reserve()) {
      becomes_stream = true;
      return;
    }
    response.status = request.method == "GET" ? 503 : 405;
    response.set_header("Retry-After", "5");
    response.set_content(request.method == "GET"
                             ? "as many streams as there may be are open: " +
                                   std::to_string(EventStreams::kStreamsMax) +
                                   "; close a page, or ask /api/status\n"
                             : "a stream answers GET\n",
                         kPlain);
  });
}

absl::Status HttpServer::Start(const std::string& host, uint16_t port) {
  FM_ASSIGN_OR_RETURN(const std::string numeric, ResolveHost(host));
  impl_->server->set_pre_routing_handler(
      [loopback = IsLoopback(numeric)](const httplib::Request& request,
                                       httplib::Response& response) {
        const std::string name = HostName(request.get_header_value("Host"));
        const char* refusal = nullptr;
        if (loopback && !name.empty() && !IsLoopback(name)) {
          refusal = "this address is of this machine only\n";
        } else if (request.path.starts_with("/api/") &&
                   IsOfAnotherOrigin(request)) {
          refusal = "a page of another origin may not ask this\n";
        }
        if (refusal == nullptr) {
          return httplib::Server::HandlerResponse::Unhandled;
        }
        response.status = 403;
        response.set_content(refusal, kPlain);
        return httplib::Server::HandlerResponse::Handled;
      });
  int bound = port;
  if (port == 0) {
    bound = impl_->server->bind_to_any_port(numeric);
  } else if (!impl_->server->bind_to_port(numeric, port)) {
    bound = -1;
  }
  if (bound <= 0) {
    return Unavailable(
        "cannot listen at {}:{}; the port is taken, or the host is not of this "
        "machine",
        host, port);
  }
  static_cast<TimedServer&>(*impl_->server).LetMoreWait();
  address_ =
      "http://" + Address{host, static_cast<uint16_t>(bound)}.ToString().substr(
                      std::string_view("tcp://").size());
  impl_->thread = std::thread([this] {
    pthread_setname_np(pthread_self(), "fm-http");
    impl_->server->listen_after_bind();
  });
  return absl::OkStatus();
}

void HttpServer::Stop() {
  if (!impl_->thread.joinable()) return;
  // httplib ignores a stop before the server runs.
  while (!impl_->server->is_running()) std::this_thread::yield();
  impl_->server->stop();
  impl_->thread.join();
  impl_->streams.reset();
}

}  // namespace feedmill
