#ifndef FEEDMILL_STORES_HTTP_CURL_SOCKETS_H_
#define FEEDMILL_STORES_HTTP_CURL_SOCKETS_H_

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>

#include "absl/time/time.h"
#include "core/net/curl_request.h"
#include "core/process/owned_fd.h"

namespace feedmill {

// A multi handle of libcurl, with its sockets and its timer, which are waited
// for by epoll: libcurl handles the ready sockets only, while
// curl_multi_perform asks the kernel about each. With 128 connections that
// bring 3 MB/s each, curl_multi_poll and curl_multi_perform take 1.6 times the
// CPU time.
//
// Thread-safety: after SetUp, any thread may call Signal. The other methods are
// for one thread at a time.
class CurlSockets {
 public:
  CurlSockets() = default;
  ~CurlSockets();
  CurlSockets(const CurlSockets&) = delete;
  CurlSockets& operator=(const CurlSockets&) = delete;

  // Sets libcurl up, for at most `connections_max` connections. False if there
  // is no memory or no descriptor. At most one call may succeed.
  bool SetUp(size_t connections_max);
  bool is_set_up() const { return multi_ != nullptr; }
  CURLM* multi() const { return multi_; }

  // Ends the present or next wait.
  void Signal();

  // Waits for a socket, the timer or a signal until `until`, and lets libcurl
  // handle what is ready.
  void WaitAndHandle(absl::Time until);

 private:
  static int OnSocket(CURL*, curl_socket_t socket, int what, void* user,
                      void* known);
  static int OnTimer(CURLM*, long milliseconds, void* user);
  std::span<const epoll_event> Await(absl::Duration wait);

  std::optional<CurlLibrary> library_;
  CURLM* multi_ = nullptr;
  OwnedFd epoll_;
  OwnedFd wake_;
  std::atomic<bool> signalled_ = false;  // wake_ is or becomes readable
  std::array<epoll_event, 64> events_{};
  absl::Time due_ = absl::InfiniteFuture();  // of libcurl's timer
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_CURL_SOCKETS_H_
