#ifndef FEEDMILL_MONITORING_HTTP_SERVER_H_
#define FEEDMILL_MONITORING_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "monitoring/event_streams.h"
#include "monitoring/http_routes.h"

namespace feedmill {

// Serves HTTP requests for a few paths. One thread reads the requests and
// writes the answers of all connections. A handler runs when all bytes of its
// request are there, so that a client that sends or reads slowly holds no
// thread.
//   threads         1 for connections, 4 for handlers (1 of them for probes
//                   only), 1 for streams (EventStreams)
//   per connection  1 answer; 5 s for the request, 10 s to read the answer
//   connections     kConnectionsMax. A further one takes the place of the
//                   oldest one whose request or answer is under way, as soon
//                   as that one is 0.1 s old
//   requests        kWaitingMax may wait for a thread; further ones get 503
//   memory          a request: HttpRequestReader's bounds. Answers that are not
//                   read: kUnreadBytesMax, then the oldest one is dropped
//
// Thread-safety: handlers are called concurrently; call the methods from one
// thread.
class HttpServer {
 public:
  static constexpr size_t kConnectionsMax = 128;
  static constexpr size_t kWaitingMax = 32;  // of probes, and of other requests
  static constexpr size_t kUnreadBytesMax = size_t{64} << 20;

  HttpServer();
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Registers handlers (HttpRoute). Call before Start.
  void Get(const std::string& pattern, HttpHandler handler);
  void Post(const std::string& pattern, HttpHandler handler);
  // A health check: it does not wait for other requests' handlers.
  void Probe(const std::string& path, HttpHandler handler);
  // A path whose answer never changes. No thread is needed to answer it.
  void Constant(const std::string& path, HttpReply reply);
  // Answers GET of the path with a stream of the source's texts. Call at most
  // once.
  void Stream(const std::string& path, EventStreams::Source source);
  // Port 0: any free port. Unavailable if the server cannot listen there. At a
  // loopback address, requests for other hosts are refused (HttpRoutes).
  absl::Status Start(const std::string& host, uint16_t port);
  void Stop();
  // "http://host:port"; "" before Start.
  const std::string& address() const { return address_; }
  const HttpRoutes& routes() const { return routes_; }

 private:
  class Loop;
  HttpRoutes routes_;
  std::unique_ptr<EventStreams> streams_;  // null: no stream is served
  std::unique_ptr<Loop> loop_;
  std::string address_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_HTTP_SERVER_H_
