#ifndef FEEDMILL_MONITORING_HTTP_MESSAGE_H_
#define FEEDMILL_MONITORING_HTTP_MESSAGE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// A request to this process.
struct ServedRequest {
  std::string method;
  std::string path;      // without the query, and without escapes
  std::string argument;  // the part that "*" of the route's pattern matched
  HttpHeaders headers;
  std::string body;

  // Returns the first header of that name, in any case; "" if there is none.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const { return Find(name) != nullptr; }
  // True if the client can decode an answer in gzip. A request without
  // Accept-Encoding gets no encoding.
  bool accepts_gzip() const;

 private:
  const std::string* Find(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  HttpHeaders headers{};
};

// The bytes of an answer after which the connection is closed. An answer to
// HEAD has no body.
std::string ReplyBytes(const HttpReply& reply, bool has_body = true);

// Reads one HTTP/1.x request from the bytes of a connection. It holds at most
// kHeadBytesMax + kBodyBytesMax bytes, and the bytes of one call. Bodies must
// come as they are: compressed and chunked ones are refused. Bytes after the
// request are ignored.
class HttpRequestReader {
 public:
  static constexpr size_t kHeadBytesMax = size_t{16} << 10;
  static constexpr size_t kBodyBytesMax = size_t{64} << 10;
  static constexpr size_t kHeadersMax = 100;

  enum class State { kIncomplete, kComplete, kRefused };

  // Takes the next bytes of the connection. After kComplete and kRefused it
  // ignores all bytes.
  State Take(std::string_view bytes);
  // REQUIRES: kComplete.
  ServedRequest& request() { return request_; }
  // The answer to a request that is damaged, too large or not supported.
  // REQUIRES: kRefused.
  const HttpReply& refusal() const { return refusal_; }

 private:
  State Refuse(HttpReply refusal);

  State state_ = State::kIncomplete;
  std::string bytes_;  // the head, later the body
  bool has_head_ = false;
  size_t body_size_ = 0;  // as the head gives it
  ServedRequest request_;
  HttpReply refusal_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_HTTP_MESSAGE_H_
