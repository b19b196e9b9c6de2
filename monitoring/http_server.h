#ifndef FEEDMILL_MONITORING_HTTP_SERVER_H_
#define FEEDMILL_MONITORING_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace feedmill {

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
};

// Answers GET requests for a few paths, by cpp-httplib. Four threads; one
// answer a connection, which has five seconds for its request and ten in all;
// beyond 64 connections that wait, newcomers are answered 503 at once. So no
// client keeps others from it for long.
//
// Thread-safety: handlers run on threads of the server's, several at a time;
// methods from one thread.
class HttpServer {
 public:
  // `argument`: what the pattern's group matched, "" without one.
  using Handler = std::function<HttpReply(const std::string& argument)>;

  HttpServer();
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // A regular expression of the whole path. Before Start.
  void Get(const std::string& pattern, Handler handler);
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
