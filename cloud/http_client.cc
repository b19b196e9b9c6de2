#include "cloud/http_client.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/strings/ascii.h"
#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/curl_request.h"
#include "core/process/certificate_authorities.h"

namespace feedmill {
namespace {

constexpr absl::Duration kConnectMax = absl::Seconds(10);
constexpr size_t kHeadersMax = 200;

// Collects the response to one request.
struct Reception {
  HttpResponse response;
  bool too_large = false;
};

size_t TakeBody(char* data, size_t, size_t size, void* user) {
  auto* reception = static_cast<Reception*>(user);
  std::string& body = reception->response.body;
  if (size > kHttpBodyMax - body.size()) {
    reception->too_large = true;
    return 0;  // ends the transfer
  }
  body.append(data, size);
  return size;
}

size_t TakeHeader(char* data, size_t, size_t size, void* user) {
  auto& headers = static_cast<Reception*>(user)->response.headers;
  const std::string_view line(data, size);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || headers.size() >= kHeadersMax) {
    return size;
  }
  std::string name(line.substr(0, colon));
  absl::AsciiStrToLower(&name);
  const size_t from = line.find_first_not_of(" \t", colon + 1);
  const size_t to = line.find_last_not_of(" \t\r\n");
  if (from == std::string_view::npos || to < from) return size;
  headers[name] = std::string(line.substr(from, to + 1 - from));
  return size;
}

// Returns scheme://host/path: a query may be long or confidential.
std::string Shown(const std::string& url) {
  return url.substr(0, url.find_first_of("?#"));
}

class Conversation {
 public:
  explicit Conversation(absl::Duration limit)
      : limit_(limit), end_(SteadyNow() + limit), easy_(curl_easy_init()) {}

  absl::StatusOr<HttpResponse> Fetch(const HttpRequest& request) {
    if (curl_ == nullptr) {
      return ResourceExhausted("no memory is left for a request to {}",
                               Shown(request.url));
    }
    const absl::Duration left = end_ - SteadyNow();
    if (left <= absl::ZeroDuration()) return TooSlow(request);
    CurlList headers;
    for (const auto& [name, value] : request.headers) {
      if (value.find_first_of("\r\n") != std::string::npos) {
        return InvalidArgument("the {} for {} has a line break in it", name,
                               Shown(request.url));
      }
      AddHeader(name + ": " + value, headers);
    }
    curl_easy_reset(curl_);
    SetUp(request, headers.get(), left);
    Reception reception;
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, TakeBody);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &reception);
    curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, TakeHeader);
    curl_easy_setopt(curl_, CURLOPT_HEADERDATA, &reception);
    char why[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, why);
    const CURLcode code = curl_easy_perform(curl_);
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, nullptr);
    if (reception.too_large) {
      return ResourceExhausted("the answer of {} is over the limit of {} bytes",
                               Shown(request.url), kHttpBodyMax);
    }
    if (code != CURLE_OK) return Failure(request, code, why);
    long status = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    reception.response.status = static_cast<int>(status);
    if (status >= 300 && status < 400) {
      return FailedPrecondition(
          "{} answers {}, a redirect to '{}', which is not followed; name the "
          "place itself",
          Shown(request.url), status, reception.response.headers["location"]);
    }
    return std::move(reception.response);
  }

 private:
  void SetUp(const HttpRequest& request, curl_slist* headers,
             absl::Duration left) {
    // Rounded up, so that the conversation's limit has passed when libcurl's
    // has.
    const auto milliseconds = [](absl::Duration time) {
      return static_cast<long>(absl::ToInt64Milliseconds(time) + 2);
    };
    const HttpTls& tls = request.tls;
    SetUpRequest(request.url, tls.authorities.empty() ? AuthoritiesFile() : "",
                 curl_);
    curl_easy_setopt(curl_, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, milliseconds(left));
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS,
                     milliseconds(std::min(left, kConnectMax)));
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
    if (request.direct) curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    if (request.method == "POST") {
      curl_easy_setopt(curl_, CURLOPT_POST, 1L);
      curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, request.body.data());
      curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    }
    curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYPEER, tls.verify ? 1L : 0L);
    curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYHOST, tls.verify ? 2L : 0L);
    SetBlob(CURLOPT_CAINFO_BLOB, tls.authorities);
    SetBlob(CURLOPT_SSLCERT_BLOB, tls.certificate);
    SetBlob(CURLOPT_SSLKEY_BLOB, tls.key);
  }

  void SetBlob(CURLoption option, const std::string& pem) {
    if (pem.empty()) return;
    curl_blob blob;
    blob.data = const_cast<char*>(pem.data());
    blob.len = pem.size();
    blob.flags = CURL_BLOB_COPY;
    curl_easy_setopt(curl_, option, &blob);
  }

  absl::Status TooSlow(const HttpRequest& request) const {
    return DeadlineExceeded("{} did not answer within {}", Shown(request.url),
                            absl::FormatDuration(limit_));
  }

  absl::Status Failure(const HttpRequest& request, CURLcode code,
                       const char* why) const {
    const std::string url = Shown(request.url);
    const std::string cause = ReasonOf(code, why);
    if (IsCertificateError(code) || code == CURLE_SSL_CONNECT_ERROR) {
      return FailedPrecondition("cannot speak TLS with {}: {}", url, cause);
    }
    switch (code) {
      case CURLE_OPERATION_TIMEDOUT:
        return TooSlow(request);
      case CURLE_URL_MALFORMAT:
      case CURLE_UNSUPPORTED_PROTOCOL:
        return InvalidArgument("'{}' is no URL of a server: {}", url, cause);
      default:
        return Unavailable("cannot reach {}: {}", url, cause);
    }
  }

  const absl::Duration limit_;
  const absl::Time end_;
  const CurlLibrary library_;
  const CurlEasy easy_;
  CURL* const curl_ = easy_.get();
};

}  // namespace

HttpFetch OpenHttp(absl::Duration limit) {
  return
      [conversation = std::make_shared<Conversation>(limit)](
          const HttpRequest& request) { return conversation->Fetch(request); };
}

}  // namespace feedmill
