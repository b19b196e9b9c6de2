// Raw requests to a process with --http: no crash, and no answer that has other
// bytes than its handler gave. A request in two parts is the same request. At a
// loopback address, no other host gets data. Without the token, no request
// changes something.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "core/net/address.h"
#include "monitoring/http_message.h"
#include "monitoring/monitor.h"
#include "monitoring/page_bytes.h"

namespace feedmill {
namespace {

void Require(bool fact) {
  if (!fact) std::abort();
}

// A dispatcher's monitor at a loopback address. Its handlers are called
// directly: it is not started.
const HttpRoutes& Routes() {
  const auto changes = [](auto&&...) -> absl::Status {
    // A monitor without a token must ask for no change.
    std::abort();
  };
  static const Monitor monitor(
      {.status = []() -> absl::StatusOr<std::string> { return "{}"; },
       .verdict = [](const std::string& job) -> absl::StatusOr<std::string> {
         Require(!job.empty());
         return absl::NotFoundError(job);
       },
       .events = []() -> absl::StatusOr<std::string> { return "[]"; },
       .drain = changes,
       .cancel = changes,
       .sample = [](const std::string&, uint64_t)
           -> absl::StatusOr<std::string> { std::abort(); }});
  static const HttpRoutes routes = [] {
    HttpRoutes made = monitor.routes();
    made.RequireLoopbackHost();
    return made;
  }();
  return routes;
}

bool IsOfThisMachine(std::string_view host) {
  if (host.empty()) return true;
  const auto address = ParseHost(host, 1);
  return address.ok() && IsLoopback(address->host);
}

// Checks that `bytes` are one head and the body of the reply, or no body.
void CheckBytes(const std::string& bytes, const HttpReply& reply,
                bool has_body) {
  const size_t end = bytes.find("\r\n\r\n");
  Require(end != bytes.npos);
  Require(bytes.substr(end + 4) == (has_body ? reply.body : ""));
  const std::string head = bytes.substr(0, end + 2);
  Require(head.find("\r\nContent-Length: " + std::to_string(reply.body.size()) +
                    "\r\n") != head.npos);
  Require(head.find('\0') == head.npos);
}

void Answer(ServedRequest request) {
  const auto found = Routes().Find(request);
  const bool has_body = request.method != "HEAD";
  if (const auto* refusal = std::get_if<HttpReply>(&found)) {
    Require(refusal->status >= 400);
    return CheckBytes(ReplyBytes(*refusal, has_body), *refusal, has_body);
  }
  Require(IsOfThisMachine(request.header("Host")));
  const HttpRoute& route = *std::get<const HttpRoute*>(found);
  if (route.kind == HttpRoute::Kind::kStream) return;
  const HttpReply reply = route.handler(request);
  CheckBytes(ReplyBytes(reply, has_body), reply, has_body);
  if (request.path == "/") {
    static const std::string text = PageText();
    Require(reply.body ==
            (request.accepts_gzip() ? std::string(PageGzip()) : text));
  }
  Require(request.method != "POST" || reply.status == 403);
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedmill;
  using State = HttpRequestReader::State;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  HttpRequestReader whole;
  const State state = whole.Take(text);
  HttpRequestReader parts;
  parts.Take(text.substr(0, size / 2));
  Require(parts.Take(text.substr(size / 2)) == state);
  if (state == State::kIncomplete) return 0;
  if (state == State::kRefused) {
    Require(parts.refusal().status == whole.refusal().status);
    CheckBytes(ReplyBytes(whole.refusal()), whole.refusal(), true);
    return 0;
  }
  Require(parts.request().path == whole.request().path &&
          parts.request().headers == whole.request().headers &&
          parts.request().body == whole.request().body);
  Require(whole.request().body.size() <= HttpRequestReader::kBodyBytesMax);
  Answer(std::move(whole.request()));
  return 0;
}
