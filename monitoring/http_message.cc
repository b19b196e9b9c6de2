#include "monitoring/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/strings/ascii.h"
#include "core/base/ascii_text.h"

namespace feedmill {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return absl::ascii_tolower(static_cast<unsigned char>(x)) ==
           absl::ascii_tolower(static_cast<unsigned char>(y));
  });
}

// Characters of methods and of names of headers (RFC 9110, 5.6.2).
bool IsToken(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kMarks.find(c) != kMarks.npos;
  });
}

bool IsHeaderValue(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

// Removes and returns the text before `mark`: all of it if there is no mark.
std::string_view TakeUntil(std::string_view& text, std::string_view mark) {
  const size_t at = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(text.size(), at + mark.size()));
  return taken;
}

template <class Number>
bool ParseWhole(std::string_view text, int base, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && at == end;
}

// "/a%20b?c" → "/a b". Nullopt if the target is no path.
std::optional<std::string> PathOf(std::string_view target) {
  if (!target.starts_with('/') ||
      !std::all_of(target.begin(), target.end(),
                   [](char c) { return c > 0x20 && c < 0x7f; })) {
    return std::nullopt;
  }
  target = target.substr(0, target.find('?'));
  return PercentDecoded(target);
}

// True if a quality ("q=0.5") is above 0, or is missing.
bool IsAllowed(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = Trimmed(TakeUntil(parameters, ";"));
    if (!(parameter.starts_with("q=") || parameter.starts_with("Q="))) continue;
    return parameter.find_first_of("123456789") != parameter.npos;
  }
  return true;
}

HttpReply ErrorReply(int status, std::string why) {
  return {.status = status, .body = std::move(why) + "\n"};
}

// Returns why the request line is refused; "" if it is taken.
std::string_view TakeRequestLine(std::string_view line,
                                 ServedRequest& request) {
  const std::string_view method = TakeUntil(line, " ");
  const std::string_view target = TakeUntil(line, " ");
  if (!IsToken(method) || (line != "HTTP/1.1" && line != "HTTP/1.0")) {
    return "the request must begin with a line like 'GET /healthz HTTP/1.1'";
  }
  std::optional<std::string> path = PathOf(target);
  if (!path) return "the target must be a path, with right escapes";
  request.method = method;
  request.path = *std::move(path);
  return "";
}

// Returns why the line of a header is refused; "" if it is taken.
std::string_view TakeHeaderLine(std::string_view line, ServedRequest& request) {
  const size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == line.npos || !IsToken(name)) {
    return "a header must be a line like 'Accept: text/plain'";
  }
  const std::string_view value = Trimmed(line.substr(colon + 1));
  if (!IsHeaderValue(value)) return "a header has a control character";
  for (const std::string_view once : {"Host", "Content-Length"}) {
    if (SameWord(name, once) && request.has_header(once)) {
      return "the headers Host and Content-Length may come once";
    }
  }
  if (request.headers.size() == HttpRequestReader::kHeadersMax) {
    return "there are too many headers";
  }
  request.headers.emplace_back(name, value);
  return "";
}

// Parses the lines of a head. Returns the answer that refuses it, if any.
std::optional<HttpReply> TakeHead(std::string_view head,
                                  ServedRequest& request) {
  std::string_view wrong = TakeRequestLine(TakeUntil(head, kLineEnd), request);
  while (wrong.empty() && !head.empty()) {
    wrong = TakeHeaderLine(TakeUntil(head, kLineEnd), request);
  }
  if (!wrong.empty()) return ErrorReply(400, std::string(wrong));
  return std::nullopt;
}

// Finds the size of the body. Returns the answer that refuses the body, if any.
std::optional<HttpReply> TakeBodySize(const ServedRequest& request,
                                      size_t& size) {
  const std::string_view encoding = request.header("Content-Encoding");
  if (!encoding.empty() && !SameWord(encoding, "identity")) {
    return ErrorReply(415, "a body must come without Content-Encoding");
  }
  if (request.has_header("Transfer-Encoding")) {
    return ErrorReply(411, "a body must come with its Content-Length");
  }
  if (request.has_header("Expect")) {
    return ErrorReply(417, "send the body at once, without the header Expect");
  }
  if (!request.has_header("Content-Length")) return std::nullopt;
  const std::string_view length = request.header("Content-Length");
  const bool digits =
      !length.empty() && std::all_of(length.begin(), length.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      });
  if (!digits) return ErrorReply(400, "Content-Length must be a number");
  if (!ParseWhole(length, 10, size) ||
      size > HttpRequestReader::kBodyBytesMax) {
    return ErrorReply(413, fmt::format("a body may have {} bytes",
                                       HttpRequestReader::kBodyBytesMax));
  }
  return std::nullopt;
}

}  // namespace

const std::string* ServedRequest::Find(std::string_view name) const {
  for (const auto& [known, value] : headers) {
    if (SameWord(known, name)) return &value;
  }
  return nullptr;
}

std::string_view ServedRequest::header(std::string_view name) const {
  const std::string* const value = Find(name);
  return value == nullptr ? std::string_view() : *value;
}

bool ServedRequest::accepts_gzip() const {
  std::string_view encodings = header("Accept-Encoding");
  bool any = false;
  while (!encodings.empty()) {
    std::string_view parameters = TakeUntil(encodings, ",");
    const std::string_view name = Trimmed(TakeUntil(parameters, ";"));
    if (SameWord(name, "gzip")) return IsAllowed(parameters);
    if (name == "*") any = IsAllowed(parameters);
  }
  return any;
}

std::string ReplyBytes(const HttpReply& reply, bool has_body) {
  std::string bytes = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nAccept-Ranges: none\r\n"
      "Connection: close\r\n",
      reply.status, ReasonOf(reply.status), reply.type, reply.body.size());
  for (const auto& [name, value] : reply.headers) {
    bytes.append(name).append(": ").append(value).append(kLineEnd);
  }
  bytes += kLineEnd;
  if (has_body) bytes += reply.body;
  return bytes;
}

HttpRequestReader::State HttpRequestReader::Refuse(HttpReply refusal) {
  refusal_ = std::move(refusal);
  return state_ = State::kRefused;
}

HttpRequestReader::State HttpRequestReader::Take(std::string_view bytes) {
  if (state_ != State::kIncomplete) return state_;
  if (!has_head_) {
    // The head's end may begin in bytes that came before.
    const size_t begin = std::max(bytes_.size(), size_t{3}) - 3;
    bytes_ += bytes.substr(0, kHeadBytesMax + kBodyBytesMax);
    const size_t end = bytes_.find(kHeadEnd, begin);
    if (std::min(end, bytes_.size()) > kHeadBytesMax) {
      return Refuse(ErrorReply(
          431, fmt::format("a head may have {} bytes", kHeadBytesMax)));
    }
    if (end == bytes_.npos) return state_;
    has_head_ = true;
    auto refusal = TakeHead(std::string_view(bytes_).substr(0, end), request_);
    if (!refusal) refusal = TakeBodySize(request_, body_size_);
    if (refusal) return Refuse(*std::move(refusal));
    bytes_.erase(0, end + kHeadEnd.size());
    bytes = "";
  }
  bytes_ += bytes.substr(0, body_size_ - std::min(body_size_, bytes_.size()));
  if (bytes_.size() < body_size_) return state_;
  request_.body = bytes_.substr(0, body_size_);
  bytes_.clear();
  return state_ = State::kComplete;
}

}  // namespace feedmill
