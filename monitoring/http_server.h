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

struct HttpRequest {
  std::string argument;  // what the pattern's group matched; "" without one
  std::string body;
  // The first header of that name; "" if there is none.
  std::function<std::string(const std::string& name)> header;
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

// Answers requests for a few paths, by cpp-httplib. Four threads; one answer a
// connection, which has five seconds for its request and ten in all; beyond 64
// connections that wait, newcomers are answered 503 at once. So no client keeps
// others from it for long. Streams have a thread of their own (EventStreams).
//
// Paths under /api/ refuse requests that a browser sends for a page of another
// origin (Sec-Fetch-Site).
//
// Thread-safety: handlers run on threads of the server's, several at a time;
// methods from one thread.
class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequest& request)>;

  HttpServer();
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // A regular expression of the whole path. Before Start.
  void Get(const std::string& pattern, Handler handler);
  void Post(const std::string& pattern, Handler handler);
  // Answers GET of the path by a stream of the source's texts. Once.
  void Stream(const std::string& path, EventStreams::Source source);
  // Port 0: any free one. Unavailable if it cannot listen there. At a loopback
  // address, requests that name another host are refused: a page of a browser
  // must not read what only this machine may.
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
