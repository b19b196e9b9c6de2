#include "stores/http/curl_attempt.h"

#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/process/certificate_authorities.h"

namespace feedmill {
namespace {

constexpr long kConnectMs = 10'000;
constexpr long kRedirectsMax = 5;
constexpr long kBufferBytes = 256 << 10;
size_t OnHeader(char* data, size_t, size_t size, void* user) {
  static_cast<Transfer*>(user)->TakeHeaderLine({data, size}, SteadyNow());
  return size;
}

size_t OnBody(char* data, size_t, size_t size, void* user) {
  const std::span<const char> bytes(data, size);
  return static_cast<Transfer*>(user)->TakeBody(std::as_bytes(bytes),
                                                SteadyNow())
             ? size
             : 0;  // ends the attempt
}

// A body on its way is a sign that the connection works.
int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t,
               curl_off_t sent) {
  auto& attempt = *static_cast<CurlAttempt*>(user);
  if (sent > attempt.sent) {
    attempt.transfer->TakeSent(static_cast<uint64_t>(sent), SteadyNow());
  }
  attempt.sent = sent;
  return 0;
}

// Returns the file of the authorities that a request trusts.
std::string AuthoritiesOf(const StoreRequest& request) {
  const char* const own =
      request.is_web ? nullptr : std::getenv("AWS_CA_BUNDLE");
  return own != nullptr ? own : AuthoritiesFile();
}

// Sets redirects and credentials, for a web server or a store.
void SetUpAccess(const StoreRequest& request, CURL* easy) {
  if (request.is_web) {
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, kRedirectsMax);
    curl_easy_setopt(easy, CURLOPT_NETRC,
                     static_cast<long>(CURL_NETRC_OPTIONAL));
  } else {
    // Names of objects may have the parts "." and "..".
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  }
  if (request.signature.empty()) return;
  curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, request.signature.c_str());
  curl_easy_setopt(easy, CURLOPT_USERNAME, request.access_key.c_str());
  curl_easy_setopt(easy, CURLOPT_PASSWORD, request.secret_key.c_str());
}

// Makes the request send the attempt's body.
void SetUpBody(CurlAttempt& attempt) {
  CURL* const easy = attempt.easy.get();
  AddHeader("Content-Type: application/octet-stream", attempt.headers);
  AddHeader("Expect:", attempt.headers);  // no round trip before the body
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(attempt.body->size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, attempt.body->data());
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &attempt);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}

// True if the answer does not begin as one of HTTP.
bool IsNoHttp(CURLcode code, const CurlAttempt& attempt) {
  // A redirect to another protocol has the same code.
  return code == CURLE_WEIRD_SERVER_REPLY ||
         (code == CURLE_UNSUPPORTED_PROTOCOL &&
          attempt.transfer->answer() == 0);
}

}  // namespace

void SetUpAttempt(const std::string& range, CurlAttempt& attempt) {
  CURL* const easy = attempt.easy.get();
  Transfer& transfer = *attempt.transfer;
  const StoreRequest request = transfer.Request();
  const bool secure = request.url.starts_with("https:");
  attempt.body = request.body;
  if (attempt.body != nullptr) SetUpBody(attempt);
  if (request.method != "GET") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  for (const std::string& line : request.headers)
    AddHeader(line, attempt.headers);
  if (const std::string line = transfer.Condition(); !line.empty()) {
    AddHeader(line, attempt.headers);
  }
  SetUpRequest(request.url, AuthoritiesOf(request), easy);
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
                   secure ? "https" : "http,https");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kBufferBytes);
  SetUpAccess(request, easy);
  if (!range.empty()) curl_easy_setopt(easy, CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, attempt.headers.get());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, attempt.error);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
}

AttemptEnd EndOf(CURLcode code, const CurlAttempt& attempt) {
  using Kind = AttemptEnd::Kind;
  if (IsNoHttp(code, attempt)) {
    return {Kind::kCut, "the server's answer is no HTTP"};
  }
  const std::string& url = attempt.transfer->url();
  const std::string reason = ReasonOf(code, attempt.error);
  if (IsCertificateError(code)) {
    return {Kind::kHopeless, "",
            FailedPrecondition("{}: the server's certificate is not trusted: "
                               "{}; SSL_CERT_FILE names a file of other "
                               "authorities",
                               url, reason)};
  }
  switch (code) {
    case CURLE_OK:
      return {};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return {Kind::kUnreachable, reason};
    case CURLE_URL_MALFORMAT:
      return {Kind::kHopeless, "",
              InvalidArgument("{}: no URL of a file: {}", url, reason)};
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_TOO_MANY_REDIRECTS:
      return {Kind::kHopeless, "",
              FailedPrecondition(
                  "{}: cannot follow the server's redirect ({}): at most {} "
                  "are followed, to http or https, and from https to https "
                  "only; name the last place itself",
                  url, reason, kRedirectsMax)};
    default:
      return {Kind::kCut, reason};
  }
}

bool MayBeFaultOfKeptConnection(const AttemptEnd& end,
                                const CurlAttempt& attempt) {
  if (end.kind != AttemptEnd::Kind::kCut || attempt.new_connection ||
      attempt.transfer->answer() != 0) {
    return false;
  }
  long new_connections = 0;
  curl_easy_getinfo(attempt.easy.get(), CURLINFO_NUM_CONNECTS,
                    &new_connections);
  return new_connections == 0;
}

}  // namespace feedmill
