#include "monitoring/event_streams.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/net/clock.h"

namespace feedmill {
namespace {

constexpr int kStreamIntervalMs = 250;
constexpr absl::Duration kStreamInterval =
    absl::Milliseconds(kStreamIntervalMs);
constexpr absl::Duration kStreamIntervalMax = absl::Seconds(10);
constexpr int kCostFactor = 100;  // least interval ÷ time to make a text
constexpr absl::Duration kUnreadTimeout = absl::Seconds(10);

constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: text/event-stream\r\n"
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "X-Accel-Buffering: no\r\n"
    "Connection: close\r\n\r\n";

// `data`: JSON or an error's text. Line ends in it become spaces, because a
// line end would end the event.
std::string EventText(std::string_view name, std::string data) {
  std::replace(data.begin(), data.end(), '\n', ' ');
  std::replace(data.begin(), data.end(), '\r', ' ');
  std::string text = "event: ";
  text.append(name).append("\ndata: ").append(data).append("\n\n");
  return text;
}

}  // namespace

class EventStreams::Loop {
 public:
  explicit Loop(Source source)
      : source_(std::move(source)), wake_(eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Loop() {
    ends_ = true;
    Wake();
    thread_.join();
    for (const OpenStream& stream : streams_) close(stream.fd);
    for (const int fd : added_) close(fd);
    if (wake_ >= 0) close(wake_);
  }

  bool Reserve() {
    size_t count = places_.load();
    while (count < kStreamsMax) {
      if (places_.compare_exchange_weak(count, count + 1)) return true;
    }
    return false;
  }
  void Release() { --places_; }
  void Add(int fd) {
    {
      const std::lock_guard lock(mu_);
      added_.push_back(fd);
    }
    Wake();
  }

 private:
  struct OpenStream {
    int fd = -1;
    std::shared_ptr<const std::string> text{};  // null: nothing left to send
    size_t sent = 0;                            // bytes of the text
    absl::Time moved{};                         // last progress, or the start
    bool greeted = false;                       // the head is sent
  };

  void Wake() const {
    const uint64_t one = 1;
    if (write(wake_, &one, sizeof(one)) < 0) return;  // already awake
  }

  void Run() {
    pthread_setname_np(pthread_self(), "fm-http-events");
    while (!ends_) {
      WaitForWork();
      TakeAdded();
      const absl::Time now = SteadyNow();
      if (!streams_.empty() && now >= next_) MakeText(now);
      SendAll();
    }
  }

  // Waits until a stream is writable or has ended, the next text is due, or
  // Wake is called.
  void WaitForWork() {
    std::vector<pollfd> items{{wake_, POLLIN, 0}};
    for (const OpenStream& stream : streams_) {
      const bool waits = stream.text != nullptr;
      items.push_back({stream.fd,
                       static_cast<short>(waits ? POLLIN | POLLOUT : POLLIN),
                       0});
    }
    // Without a descriptor for Wake, the loop looks by itself.
    int ms = wake_ >= 0 ? -1 : kStreamIntervalMs;
    if (!streams_.empty()) {
      const absl::Duration left =
          std::max(next_ - SteadyNow(), absl::ZeroDuration());
      ms = static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
    }
    if (poll(items.data(), items.size(), ms) <= 0) return;
    if ((items[0].revents & POLLIN) != 0) {
      uint64_t count = 0;
      if (read(wake_, &count, sizeof(count)) < 0) return;
    }
    for (size_t k = 0; k < streams_.size(); ++k) {
      if ((items[k + 1].revents & ~POLLOUT) != 0) CheckClosed(streams_[k]);
    }
    Sweep();
  }

  // Clients send nothing after the request: incoming bytes are ignored, and an
  // end of file or an error ends the stream.
  void CheckClosed(OpenStream& stream) {
    char bytes[1024];
    const ssize_t got = recv(stream.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) End(stream);
  }

  void TakeAdded() {
    std::vector<int> added;
    {
      const std::lock_guard lock(mu_);
      added.swap(added_);
    }
    for (const int fd : added) {
      OpenStream stream{.fd = fd, .moved = SteadyNow()};
      streams_.push_back(std::move(stream));
      next_ = absl::InfinitePast();  // a new stream begins with current data
    }
  }

  void MakeText(absl::Time now) {
    absl::StatusOr<std::string> made = source_();
    const absl::Duration cost = SteadyNow() - now;
    next_ = now +
            std::clamp(cost * kCostFactor, kStreamInterval, kStreamIntervalMax);
    const auto text = std::make_shared<const std::string>(
        made.ok() ? EventText("status", *std::move(made))
                  : EventText("trouble", ErrorText(made.status())));
    for (OpenStream& stream : streams_) {
      if (stream.text != nullptr) continue;
      stream.text = text;
      stream.sent = 0;
      stream.moved = now;
    }
  }

  void SendAll() {
    const absl::Time now = SteadyNow();
    for (OpenStream& stream : streams_) {
      if (!stream.greeted) Greet(stream);
      while (stream.fd >= 0 && stream.text != nullptr) {
        const ssize_t sent = send(stream.fd, stream.text->data() + stream.sent,
                                  stream.text->size() - stream.sent,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN) {
          if (now - stream.moved > kUnreadTimeout) End(stream);
          break;
        }
        if (sent < 0) {
          End(stream);
          break;
        }
        stream.moved = now;
        stream.sent += static_cast<size_t>(sent);
        if (stream.sent == stream.text->size()) stream.text = nullptr;
      }
    }
    Sweep();
  }

  // Sends the head at once: the buffer of a new connection has room for it.
  void Greet(OpenStream& stream) {
    const ssize_t sent = send(stream.fd, kStreamHead.data(), kStreamHead.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    stream.greeted = sent == static_cast<ssize_t>(kStreamHead.size());
    if (!stream.greeted) End(stream);
  }

  void End(OpenStream& stream) {
    if (stream.fd < 0) return;
    shutdown(stream.fd, SHUT_RDWR);
    close(std::exchange(stream.fd, -1));
    stream.text = nullptr;
    Release();
  }
  void Sweep() {
    std::erase_if(streams_,
                  [](const OpenStream& stream) { return stream.fd < 0; });
  }

  const Source source_;
  const int wake_;
  std::atomic<bool> ends_ = false;
  std::atomic<size_t> places_ = 0;
  std::mutex mu_;
  std::vector<int> added_;  // guarded by mu_

  // Used by the thread only.
  std::vector<OpenStream> streams_;
  absl::Time next_ = absl::InfinitePast();
  std::thread thread_;
};

EventStreams::EventStreams(Source source)
    : loop_(std::make_unique<Loop>(std::move(source))) {}
EventStreams::~EventStreams() = default;
bool EventStreams::Reserve() { return loop_->Reserve(); }
void EventStreams::Release() { loop_->Release(); }
void EventStreams::Add(int fd) { loop_->Add(fd); }

}  // namespace feedmill
