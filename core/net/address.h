#ifndef FEEDMILL_CORE_NET_ADDRESS_H_
#define FEEDMILL_CORE_NET_ADDRESS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// A TCP endpoint: a host name or an IPv4 or IPv6 address (without brackets),
// and a port.
struct Address {
  std::string host;
  uint16_t port = 0;
  // Further endpoints of the same server: of a dispatcher's standbys.
  std::vector<Address> others{};

  // The endpoint to connect to: 127.0.0.1 for "localhost", also where no
  // /etc/hosts has that name, as in a container's root.
  Address ForConnect() const;
  // The endpoint for attempt `turn`, which goes round, without others.
  Address AtTurn(size_t turn) const;
  // "tcp://host:port", of several with commas. An IPv6 host is in brackets.
  std::string ToString() const;
  friend bool operator==(const Address&, const Address&) = default;
};

// Parses "tcp://host:port" or "host:port"; an IPv6 host stands in brackets.
// Several, with commas, are one server's: peers connect to one after the other
// until one answers.
// InvalidArgument says what to write. Port 0 is refused: it cannot be connected
// to.
absl::StatusOr<Address> ParseAddress(std::string_view text);

// Parses "host" or "host:port". Without a port, the port is `default_port`.
absl::StatusOr<Address> ParseHost(std::string_view text, uint16_t default_port);

// Default host that servers listen on. EndpointConfig overrides it.
inline constexpr char kLoopback[] = "127.0.0.1";

// True if a bind to `host` listens on every interface.
bool IsWildcard(std::string_view host);
// True if `host` can be reached from this machine only: it is localhost, or an
// address of 127.0.0.0/8 or ::1. A name that begins like one, such as
// 127.0.0.1.example.com, is any machine's.
bool IsLoopback(std::string_view host);

// True for an IPv4 or IPv6 address.
bool IsNumericHost(std::string_view host);

// Returns the numeric IPv4 addresses of `host` or, if it has none, its
// IPv6 addresses; none for an unknown host. May block.
std::vector<std::string> LookUpHost(const std::string& host);

// Returns the numeric address of `host`, for binding. Looks names up, which may
// block. InvalidArgument if the name is unknown.
absl::StatusOr<std::string> ResolveHost(const std::string& host);

// Returns advice for an address at which no peer answered: whether the host's
// name is known, else to check the address. Waits for the look-up for a second
// at most.
std::string NoAnswerAdvice(const Address& peer);

// Returns this machine's address on the route to `peer`, from the routing
// table; nothing is sent. "127.0.0.1" if there is no route.
std::string LocalAddressToward(const Address& peer);

// This machine's numeric address of the TCP connection `fd`. "" if `fd` is not
// a connection to port `peer_port`, e.g. because it was closed and reused.
std::string LocalAddressOf(int fd, uint16_t peer_port);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_ADDRESS_H_
