#include "tests/conformance/cluster/local_http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <optional>

#include "feedmill/resolver.h"

namespace feedmill {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// Parses a request without its body. `line`: the request line.
std::optional<ServedRequest> ParseHead(const std::string& head,
                                       std::string* line) {
  *line = head.substr(0, head.find("\r\n"));
  const size_t first = line->find(' ');
  const size_t second = line->rfind(' ');
  if (first == std::string::npos || second <= first) return std::nullopt;
  line->resize(second);
  ServedRequest request;
  request.method = line->substr(0, first);
  // A resolver's URI has the same syntax.
  const auto uri = ResolverUri::Parse("http:" + line->substr(first + 1));
  if (!uri.ok()) return std::nullopt;
  request.path = uri->path;
  request.query = {uri->parameters.begin(), uri->parameters.end()};
  for (size_t from = head.find("\r\n") + 2; from < head.size();) {
    const size_t to = std::min(head.find("\r\n", from), head.size());
    const size_t colon = head.find(": ", from);
    if (colon < to) {
      request.headers[Lower(head.substr(from, colon - from))] =
          head.substr(colon + 2, to - colon - 2);
    }
    from = to + 2;
  }
  return request;
}

bool ReceiveSome(int connection, std::string* text) {
  char block[65'536];
  const ssize_t count = recv(connection, block, sizeof(block), 0);
  if (count > 0) text->append(block, static_cast<size_t>(count));
  return count > 0;
}

void SendAll(int connection, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count =
        send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
}

}  // namespace

LocalHttpServer::LocalHttpServer(Answer answer) : answer_(std::move(answer)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (bind(listener_, plain, size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, plain, &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

LocalHttpServer::~LocalHttpServer() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
  for (const int connection : silent_) close(connection);
}

std::string LocalHttpServer::host() const {
  return fmt::format("127.0.0.1:{}", port_);
}

std::vector<std::string> LocalHttpServer::log() const {
  const std::lock_guard lock(mu_);
  return log_;
}

void LocalHttpServer::Serve() {
  for (;;) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    ServeOne(connection);
  }
}

void LocalHttpServer::ServeOne(int connection) {
  std::string text;
  size_t end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    if (!ReceiveSome(connection, &text)) break;
    if (std::isupper(static_cast<unsigned char>(text[0])) == 0) break;  // TLS
  }
  std::string line;
  auto request = ParseHead(text.substr(0, end), &line);
  if (end == std::string::npos || !request.has_value()) {
    close(connection);
    return;
  }
  request->body = text.substr(end + 4);
  const size_t wanted =
      std::strtoul(request->headers["content-length"].c_str(), nullptr, 10);
  while (request->body.size() < wanted &&
         ReceiveSome(connection, &request->body)) {
  }
  {
    const std::lock_guard lock(mu_);
    log_.push_back(line);
  }
  const ServedAnswer answer = answer_(*request);
  if (answer.never) {
    silent_.push_back(connection);
    return;
  }
  std::string head = fmt::format(
      "HTTP/1.1 {} Answer\r\nContent-Length: {}\r\nConnection: close\r\n",
      answer.status, answer.body.size());
  for (const auto& [name, value] : answer.headers) {
    head += fmt::format("{}: {}\r\n", name, value);
  }
  SendAll(connection, head + "\r\n" + answer.body);
  close(connection);
}

}  // namespace feedmill
