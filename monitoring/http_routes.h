#ifndef FEEDMILL_MONITORING_HTTP_ROUTES_H_
#define FEEDMILL_MONITORING_HTTP_ROUTES_H_

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "monitoring/http_message.h"

namespace feedmill {

using HttpHandler = std::function<HttpReply(const ServedRequest& request)>;

struct HttpRoute {
  enum class Kind {
    kConstant,  // the handler takes no time
    kProbe,     // the handler may wait for other threads of the process
    kAnswer,    // the handler may take seconds
    kStream,    // the connection becomes a stream (EventStreams); no handler
  };
  std::string method;
  std::string pattern;  // a path, in which "*" stands for one or more bytes
  Kind kind = Kind::kAnswer;
  HttpHandler handler{};
};

// Finds the route of a request, and refuses requests that browsers send for
// pages of other sites.
class HttpRoutes {
 public:
  void Add(HttpRoute route) { routes_.push_back(std::move(route)); }
  // Refuses requests whose Host is a name of another machine. At a loopback
  // address a page of any site could otherwise read this machine's data (DNS
  // rebinding).
  void RequireLoopbackHost() { loopback_only_ = true; }

  // Returns the request's route, and sets its argument, or the answer that
  // refuses it. A route of GET takes HEAD, too.
  std::variant<const HttpRoute*, HttpReply> Find(ServedRequest& request) const;

 private:
  std::vector<HttpRoute> routes_;
  bool loopback_only_ = false;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_HTTP_ROUTES_H_
