#include "monitoring/operator_gate.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/base/status.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

constexpr size_t kTokenMin = 16;
constexpr size_t kTokenMax = 1'024;
constexpr std::string_view kBearer = "Bearer ";

HttpReply Refused(int status, std::string why) {
  return {.status = status, .body = std::move(why) + "\n"};
}

// Compares in constant time: the time does not depend on the first different
// byte.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differs = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    differs = static_cast<unsigned char>(differs | (a[k] ^ b[k]));
  }
  return differs == 0;
}

// "http://d0:9090" → "d0:9090".
std::string_view HostOfOrigin(std::string_view origin) {
  const size_t end = origin.find("://");
  return end == origin.npos ? origin : origin.substr(end + 3);
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return NotFound("--http-token-file: cannot open '{}': {}", path,
                    std::strerror(errno));
  }
  struct stat info {};
  std::string text(kTokenMax + 2, '\0');
  const bool known = fstat(fd, &info) == 0;
  const ssize_t got = read(fd, text.data(), text.size());
  const int error = errno;
  close(fd);
  if (!known || got < 0) {
    return InvalidArgument("--http-token-file: cannot read '{}': {}", path,
                           std::strerror(error));
  }
  if ((info.st_mode & 0077) != 0) {
    return InvalidArgument(
        "--http-token-file: others may read '{}' (mode {:o}); run: chmod 600 "
        "{}",
        path, info.st_mode & 0777, path);
  }
  text.resize(static_cast<size_t>(got));
  return text;
}

absl::StatusOr<std::string> TokenOf(const std::string& path) {
  FM_ASSIGN_OR_RETURN(std::string token, ReadToken(path));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) {
    token.pop_back();
  }
  const bool printable = std::all_of(
      token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (token.size() < kTokenMin || token.size() > kTokenMax || !printable) {
    return InvalidArgument(
        "--http-token-file: '{}' must hold one line of {} to {} printable "
        "characters without spaces; run: head -c 24 /dev/urandom | base64 > {}",
        path, kTokenMin, kTokenMax, path);
  }
  return token;
}

}  // namespace

absl::StatusOr<OperatorGate> OperatorGate::FromFile(const std::string& path) {
  FM_RETURN_IF_ERROR(TokenOf(path).status());
  OperatorGate gate;
  gate.path_ = path;
  return gate;
}

std::optional<HttpReply> OperatorGate::Refuse(
    const ServedRequest& request) const {
  if (path_.empty()) {
    return Refused(403,
                   "this server takes no requests of operators; start it with "
                   "--http-token-file FILE");
  }
  const std::string_view site = request.header("Sec-Fetch-Site");
  const std::string_view origin = request.header("Origin");
  if ((!site.empty() && site != "same-origin") ||
      (!origin.empty() && HostOfOrigin(origin) != request.header("Host"))) {
    return Refused(403, "a page of another origin may not ask this");
  }
  if (request.header("X-Feedmill") != "1") {
    return Refused(403, "the header 'X-Feedmill: 1' is missing");
  }
  const std::string_view type = request.header("Content-Type");
  if (type.substr(0, type.find(';')) != "application/json") {
    return Refused(415, "the body must be application/json");
  }
  const absl::StatusOr<std::string> token = TokenOf(path_);
  if (!token.ok()) {
    LogOften(LogLevel::kWarning, "operator token", ErrorText(token.status()));
    return Refused(503, "the server cannot read its token; its log says why");
  }
  const std::string_view said = request.header("Authorization");
  if (!said.starts_with(kBearer) ||
      !SameSecret(said.substr(kBearer.size()), *token)) {
    HttpReply reply = Refused(
        401,
        "the token is missing or wrong: it is the line of the file that "
        "--http-token-file names");
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    return reply;
  }
  return std::nullopt;
}

}  // namespace feedmill
