#include "stores/http/curl_sockets.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "core/net/clock.h"

namespace feedmill {

CurlSockets::~CurlSockets() {
  if (multi_ == nullptr) return;
  curl_multi_cleanup(multi_);  // Closing connections reports their sockets.
}

bool CurlSockets::SetUp(size_t connections_max) {
  epoll_ = OwnedFd(epoll_create1(EPOLL_CLOEXEC));
  wake_ = OwnedFd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_.get();
  if (!epoll_.valid() || !wake_.valid() ||
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    return false;
  }
  library_.emplace();
  multi_ = curl_multi_init();
  if (multi_ == nullptr) return false;
  const auto most = static_cast<long>(connections_max);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, most);
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, most);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &OnSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &OnTimer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  return true;
}

void CurlSockets::Signal() {
  if (signalled_.exchange(true)) return;
  const uint64_t one = 1;
  // Only a full counter refuses the write, and then the wait ends anyway.
  [[maybe_unused]] const ssize_t wrote = write(wake_.get(), &one, sizeof one);
}

void CurlSockets::WaitAndHandle(absl::Time until) {
  int running = 0;
  for (const epoll_event& event : Await(std::min(until, due_) - SteadyNow())) {
    if (event.data.fd == wake_.get()) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t got =
          read(wake_.get(), &count, sizeof count);
      signalled_ = false;  // before the caller looks what it was for
      continue;
    }
    int what = 0;
    if ((event.events & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
    if ((event.events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
    if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
    curl_multi_socket_action(multi_, event.data.fd, what, &running);
  }
  if (SteadyNow() < due_) return;
  due_ = absl::InfiniteFuture();  // libcurl sets it again
  curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
}

int CurlSockets::OnSocket(CURL*, curl_socket_t socket, int what, void* user,
                          void* known) {
  auto& self = *static_cast<CurlSockets*>(user);
  epoll_event event{};
  event.data.fd = socket;
  if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(self.epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
    return 0;
  }
  const int how = known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (known == nullptr) curl_multi_assign(self.multi_, socket, user);
  if (epoll_ctl(self.epoll_.get(), how, socket, &event) == 0) return 0;
  // libcurl may close a socket, and open another of that number, unreported.
  const int other = how == EPOLL_CTL_ADD ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  return epoll_ctl(self.epoll_.get(), other, socket, &event);
}

int CurlSockets::OnTimer(CURLM*, long milliseconds, void* user) {
  static_cast<CurlSockets*>(user)->due_ =
      milliseconds < 0 ? absl::InfiniteFuture()
                       : SteadyNow() + absl::Milliseconds(milliseconds);
  return 0;
}

std::span<const epoll_event> CurlSockets::Await(absl::Duration wait) {
  constexpr absl::Duration kLongest = absl::Seconds(1);
  wait = std::clamp(wait, absl::ZeroDuration(), kLongest);
  const auto milliseconds = static_cast<int>(
      absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))));
  const int count = epoll_wait(epoll_.get(), events_.data(),
                               static_cast<int>(events_.size()), milliseconds);
  return std::span(events_).first(static_cast<size_t>(std::max(count, 0)));
}

}  // namespace feedmill
