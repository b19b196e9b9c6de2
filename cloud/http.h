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

// HTTP requests of resolvers, as plain values. OpenHttp() of
// cloud/http_client.h sends them; tests answer them without a network.

// TLS settings of a request; PEM texts.
struct HttpTls {
  std::string authorities;  // "": the system's authorities
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
  bool direct = false;  // true: ignore the environment's proxy
};

// Status of a server that refuses a missing or expired token.
inline constexpr int kHttpUnauthorized = 401;

struct HttpResponse {
  int status = 0;  // 200
  std::string body{};
  std::map<std::string, std::string> headers{};  // names in lower case
};

// OK with any HTTP status but 3xx: redirects are not followed, so that no token
// reaches an unknown server. Errors name the server: Unavailable (cannot be
// reached), DeadlineExceeded (too slow), FailedPrecondition (bad certificate,
// redirect), ResourceExhausted (an answer of more than kHttpBodyMax bytes).
using HttpFetch =
    std::function<absl::StatusOr<HttpResponse>(const HttpRequest& request)>;

// Opens a conversation: all its requests together take at most `limit`. One
// thread at a time; connections are kept between requests.
using HttpOpener = std::function<HttpFetch(absl::Duration limit)>;

inline constexpr size_t kHttpBodyMax = size_t{32} << 20;

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_HTTP_H_
