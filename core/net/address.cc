#include "core/net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

#include "absl/strings/ascii.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr std::string_view kScheme = "tcp://";
// The same in feedmill.tf, for programs that were written for TensorFlow.
constexpr std::string_view kSchemeOfTensorFlow = "grpc://";
constexpr size_t kHostMax = 255;

// Makes untrusted text printable and short, for messages.
std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 100)) {
    shown += absl::ascii_isprint(static_cast<unsigned char>(c)) ? c : '?';
  }
  return shown;
}

absl::Status Wrong(std::string_view text, std::string_view why) {
  return InvalidArgument(
      "address \"{}\": {}; write tcp://host:port, such as "
      "tcp://127.0.0.1:5050 or tcp://[::1]:5050",
      Shown(text), why);
}

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
         c == '.' || c == '_';
}

bool IsIpv6(std::string_view host) {
  in6_addr address{};
  const std::string text(host.substr(0, host.find('%')));
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// Splits "host", "host:port", "[v6]" or "[v6]:port".
absl::Status SplitHost(std::string_view text, std::string_view rest,
                       std::string& host, std::string_view& port) {
  size_t colon = std::string_view::npos;
  if (rest.starts_with('[')) {
    const size_t close = rest.find(']');
    if (close == rest.npos) return Wrong(text, "the bracket is not closed");
    host = rest.substr(1, close - 1);
    if (!IsIpv6(host)) return Wrong(text, "no IPv6 address in the brackets");
    if (close + 1 < rest.size() && rest[close + 1] != ':') {
      return Wrong(text, "a colon must follow the bracket");
    }
    colon = close + 1 < rest.size() ? close + 1 : rest.npos;
  } else {
    colon = rest.find(':');
    host = rest.substr(0, colon);
    if (colon != rest.npos && rest.find(':', colon + 1) != rest.npos) {
      return Wrong(text, "more than one colon (IPv6 goes in brackets)");
    }
    if (host.empty()) return Wrong(text, "the host is missing");
    if (host.size() > kHostMax ||
        !std::all_of(host.begin(), host.end(), IsNameCharacter)) {
      return Wrong(text, "that is not a host name");
    }
  }
  port = colon == rest.npos ? std::string_view() : rest.substr(colon + 1);
  if (colon != rest.npos && port.empty()) {
    return Wrong(text, "the port is missing");
  }
  return absl::OkStatus();
}

absl::StatusOr<Address> Parse(std::string_view text, uint16_t default_port,
                              bool needs_port) {
  std::string_view rest = text;
  if (rest.starts_with(kScheme)) {
    rest.remove_prefix(kScheme.size());
  } else if (rest.starts_with(kSchemeOfTensorFlow)) {
    rest.remove_prefix(kSchemeOfTensorFlow.size());
  } else if (rest.find("://") != rest.npos) {
    return Wrong(text, "only tcp:// is served");
  }
  Address address;
  std::string_view port;
  FM_RETURN_IF_ERROR(SplitHost(text, rest, address.host, port));
  address.port = default_port;
  if (port.empty()) {
    if (needs_port) return Wrong(text, "the port is missing");
    return address;
  }
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return Wrong(text, "the port must be a number from 1 to 65535");
  }
  if (address.port == 0) return Wrong(text, "port 0 cannot be connected to");
  return address;
}

constexpr size_t kAddressesMax = 16;
constexpr std::string_view kLocalhost = "localhost";
constexpr std::chrono::seconds kLookUpTimeout(1);

struct AddrInfoFree {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
using AddrInfo = std::unique_ptr<addrinfo, AddrInfoFree>;

AddrInfo LookUp(const std::string& host, uint16_t port, int type) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (getaddrinfo(host.c_str(), service.c_str(), &hints, &found) != 0) {
    return nullptr;
  }
  return AddrInfo(found);
}

std::string Numeric(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST];
  if (getnameinfo(address, length, host, sizeof(host), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "";
  }
  return host;
}

uint16_t PortOf(const sockaddr_storage& address) {
  in_port_t port = 0;
  if (address.ss_family == AF_INET) {
    port = reinterpret_cast<const sockaddr_in&>(address).sin_port;
  } else if (address.ss_family == AF_INET6) {
    port = reinterpret_cast<const sockaddr_in6&>(address).sin6_port;
  }
  return ntohs(port);
}

}  // namespace

Address Address::ForConnect() const {
  return {host == kLocalhost ? kLoopback : host, port};
}

Address Address::AtTurn(size_t turn) const {
  const size_t k = turn % (1 + others.size());
  return k == 0 ? Address{host, port} : others[k - 1];
}

std::string Address::ToString() const {
  std::string text = host.find(':') == host.npos
                         ? fmt::format("tcp://{}:{}", host, port)
                         : fmt::format("tcp://[{}]:{}", host, port);
  for (const Address& other : others) text += "," + other.ToString();
  return text;
}

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  const size_t comma = text.find(',');
  FM_ASSIGN_OR_RETURN(Address first, Parse(text.substr(0, comma), 0,
                                           /*needs_port=*/true));
  for (size_t at = comma; at != text.npos;) {
    if (first.others.size() + 1 == kAddressesMax) {
      return InvalidArgument("\"{}\" has more than {} addresses",
                             text.substr(0, 80), kAddressesMax);
    }
    const size_t next = text.find(',', at + 1);
    FM_ASSIGN_OR_RETURN(Address other, Parse(text.substr(at + 1, next - at - 1),
                                             0, /*needs_port=*/true));
    first.others.push_back(std::move(other));
    at = next;
  }
  return first;
}

absl::StatusOr<Address> ParseHost(std::string_view text,
                                  uint16_t default_port) {
  if (IsIpv6(text)) return Address{std::string(text), default_port};
  return Parse(text, default_port, /*needs_port=*/false);
}

bool IsWildcard(std::string_view host) {
  return host == "0.0.0.0" || host == "::" || host == "*";
}

bool IsLoopback(std::string_view host) {
  std::string text(host);
  absl::AsciiStrToLower(&text);
  if (text == kLocalhost) return true;
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6) ||
           (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
  }
  in_addr v4{};
  return inet_pton(AF_INET, text.c_str(), &v4) == 1 &&
         ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool IsNumericHost(std::string_view host) {
  in_addr v4{};
  return IsIpv6(host) ||
         inet_pton(AF_INET, std::string(host).c_str(), &v4) == 1;
}

std::vector<std::string> LookUpHost(const std::string& host) {
  const AddrInfo found = LookUp(host, 0, SOCK_STREAM);
  std::vector<std::string> numeric;
  // Prefer IPv4, as Reactor::Connect does.
  for (const int family : {AF_INET, AF_INET6}) {
    for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
      if (at->ai_family != family) continue;
      std::string one = Numeric(at->ai_addr, at->ai_addrlen);
      if (!one.empty()) numeric.push_back(std::move(one));
    }
    if (!numeric.empty()) break;
  }
  return numeric;
}

absl::StatusOr<std::string> ResolveHost(const std::string& host) {
  if (host == "*") return std::string("0.0.0.0");
  if (host == kLocalhost) return std::string(kLoopback);
  if (IsIpv6(host)) return host;
  std::vector<std::string> found = LookUpHost(host);
  if (!found.empty()) return std::move(found.front());
  return InvalidArgument(
      "host \"{}\" is not known; write an address of this machine, such as "
      "127.0.0.1, or 0.0.0.0 for all of them",
      Shown(host));
}

std::string NoAnswerAdvice(const Address& peer) {
  auto known = std::make_shared<std::promise<bool>>();
  std::future<bool> answer = known->get_future();
  // A look-up cannot be stopped, and takes longer if no name server answers.
  try {
    std::thread([known, to = peer.ForConnect()] {
      known->set_value(LookUp(to.host, to.port, SOCK_STREAM) != nullptr);
    }).detach();
  } catch (const std::system_error&) {
    known->set_value(true);  // no thread can start: the name is not judged
  }
  if (answer.wait_for(kLookUpTimeout) == std::future_status::ready &&
      !answer.get()) {
    return fmt::format(
        "this machine knows no host \"{}\": check its spelling, or write its "
        "IP "
        "address",
        Shown(peer.host));
  }
  return "is it running, and is the address right?";
}

std::string LocalAddressToward(const Address& peer) {
  const std::string nowhere = "127.0.0.1";
  const AddrInfo found = LookUp(peer.host, peer.port, SOCK_DGRAM);
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    const int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    std::string numeric;
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0) {
      numeric = Numeric(reinterpret_cast<sockaddr*>(&own), length);
    }
    close(fd);
    if (!numeric.empty()) return numeric;
  }
  return nowhere;
}

std::string LocalAddressOf(int fd, uint16_t peer_port) {
  sockaddr_storage peer{};
  sockaddr_storage own{};
  socklen_t peer_length = sizeof(peer);
  socklen_t own_length = sizeof(own);
  auto* peer_address = reinterpret_cast<sockaddr*>(&peer);
  auto* own_address = reinterpret_cast<sockaddr*>(&own);
  if (getpeername(fd, peer_address, &peer_length) != 0 ||
      PortOf(peer) != peer_port ||
      getsockname(fd, own_address, &own_length) != 0) {
    return "";
  }
  return Numeric(own_address, own_length);
}

}  // namespace feedmill
