#ifndef FEEDMILL_MONITORING_HTTP_SERVER_H_
#define FEEDMILL_MONITORING_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "monitoring/event_streams.h"

namespace feedmill {

// A request to this process.
struct ServedRequest {
  std::string argument;  // match of the pattern's group; "" without a group
  std::string body;
  // Returns the first header of that name; "" if the request has none.
  std::function<std::string(const std::string& name)> header;
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

// Serves HTTP requests for a few paths with cpp-httplib. Bounds keep one client
// from blocking the other clients for long:
//   threads              4, and one more for streams (EventStreams)
//   per connection       1 answer, 5 s for the request, 10 s in all
//   waiting connections  64; further connections get 503 at once
//
// Paths under /api/ refuse requests that a browser sends for a page of another
// origin (Sec-Fetch-Site).
//
// Thread-safety: the server's threads call handlers concurrently; call the
// methods from one thread.
class HttpServer {
 public:
  using Handler = std::function<HttpReply(const ServedRequest& request)>;

  HttpServer();
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Registers the handler of a path. `pattern` is a regular expression that
  // must match the whole path. Call before Start.
  void Get(const std::string& pattern, Handler handler);
  void Post(const std::string& pattern, Handler handler);
  // Answers GET of the path with a stream of the source's texts. Call at most
  // once.
  void Stream(const std::string& path, EventStreams::Source source);
  // Port 0: any free port. Unavailable if the server cannot listen there. At a
  // loopback address, requests whose Host is another name are refused:
  // otherwise a page of another site could read this machine's data (DNS
  // rebinding).
  absl::Status Start(const std::string& host, uint16_t port);
  void Stop();
  // "http://host:port"; "" before Start.
  const std::string& address() const { return address_; }

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
  std::string address_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_HTTP_SERVER_H_
