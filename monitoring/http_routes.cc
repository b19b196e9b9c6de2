#include "monitoring/http_routes.h"

#include <optional>
#include <string_view>
#include <utility>

#include "core/net/address.h"

namespace feedmill {
namespace {

// Returns the part of the path for which "*" of the pattern stands; "" if the
// pattern has none. Nullopt if the pattern does not match.
std::optional<std::string> Match(std::string_view pattern,
                                 std::string_view path) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) {
    if (pattern != path) return std::nullopt;
    return "";
  }
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (path.size() < pattern.size() || !path.starts_with(before) ||
      !path.ends_with(after)) {
    return std::nullopt;
  }
  return std::string(
      path.substr(star, path.size() - before.size() - after.size()));
}

// True if a Host header names this machine. It must be a whole loopback
// address or localhost: other names that begin like one belong to strangers
// (127.0.0.1.example.com).
bool IsThisMachine(std::string_view host) {
  // ParseHost refuses port 0, which no URL that worked can have.
  const auto address = ParseHost(host, 1);
  return address.ok() && !host.starts_with("tcp:") && IsLoopback(address->host);
}

// True if the browser reports that a page of another origin sent the request.
bool IsOfAnotherOrigin(const ServedRequest& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  return !site.empty() && site != "same-origin" && site != "none";
}

}  // namespace

std::variant<const HttpRoute*, HttpReply> HttpRoutes::Find(
    ServedRequest& request) const {
  if (loopback_only_ && !request.header("Host").empty() &&
      !IsThisMachine(request.header("Host"))) {
    return HttpReply{.status = 403,
                     .body = "this address is of this machine only\n"};
  }
  if (request.path.starts_with("/api/") && IsOfAnotherOrigin(request)) {
    return HttpReply{.status = 403,
                     .body = "a page of another origin may not ask this\n"};
  }
  const std::string_view method =
      request.method == "HEAD" ? std::string_view("GET") : request.method;
  std::string allowed;
  for (const HttpRoute& route : routes_) {
    auto argument = Match(route.pattern, request.path);
    if (!argument) continue;
    const bool streams = route.kind == HttpRoute::Kind::kStream;
    if ((streams ? request.method : method) == route.method) {
      request.argument = *std::move(argument);
      return &route;
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (allowed.empty())
    return HttpReply{.status = 404, .body = "no such path\n"};
  return HttpReply{.status = 405,
                   .body = "this path answers " + allowed + "\n",
                   .headers = {{"Allow", allowed}}};
}

}  // namespace feedmill
