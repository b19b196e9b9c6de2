#ifndef FEEDMILL_CLOUD_HTTP_H_
#define FEEDMILL_CLOUD_HTTP_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace feedmill {

// Questions over HTTP, as resolvers ask them: plain values here, the one that
// really asks is OpenHttp() of cloud/http_client.h. Tests answer themselves.

// How an https server is checked, and what it is shown; PEM texts.
struct HttpTls {
  std::string authorities;  // "": those that the system trusts
  std::string certificate;  // of this client; "": none
  std::string key;          // of the certificate
  bool verify = true;
};

struct HttpRequest {
  std::string url;  // http:// or https://, without user or password
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};  // of a POST
  HttpTls tls{};
  bool direct = false;  // never through the proxy that the environment names
};

// The status by which a server refuses a missing or expired token.
inline constexpr int kHttpUnauthorized = 401;

struct HttpResponse {
  int status = 0;  // 200
  std::string body{};
  std::map<std::string, std::string> headers{};  // names in lower case
};

// OK with any status that a server gives, but 3xx: nothing is followed to a
// place that nobody named, a token least of all. Errors name the server:
// Unavailable (cannot be reached), DeadlineExceeded (too slow),
// FailedPrecondition (its certificate, a redirect), ResourceExhausted (an
// answer of more than kHttpBodyMax bytes).
using HttpFetch =
    std::function<absl::StatusOr<HttpResponse>(const HttpRequest& request)>;

// A conversation: all of its questions together take at most `limit`. One
// thread at a time; connections are kept from one question to the next.
using HttpOpener = std::function<HttpFetch(absl::Duration limit)>;

inline constexpr size_t kHttpBodyMax = size_t{32} << 20;

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_HTTP_H_
