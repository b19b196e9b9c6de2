#ifndef FEEDMILL_CORE_NET_ADDRESS_H_
#define FEEDMILL_CORE_NET_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// A TCP endpoint: a host name, an IPv4 or an IPv6 address (without brackets),
// and a port.
struct Address {
  std::string host;
  uint16_t port = 0;

  // "tcp://host:port"; IPv6 in brackets.
  std::string ToString() const;
  friend bool operator==(const Address&, const Address&) = default;
};

// Reads "tcp://host:port" or "host:port", IPv6 in brackets. InvalidArgument
// says what to write. A port of 0 is refused: nobody can be reached there.
absl::StatusOr<Address> ParseAddress(std::string_view text);

// Reads "host" or "host:port"; without a port, `default_port`.
absl::StatusOr<Address> ParseHost(std::string_view text, uint16_t default_port);

// The host that servers listen on unless their EndpointConfig names one.
inline constexpr char kLoopback[] = "127.0.0.1";

// Whether `host` is an address to bind to that means every interface.
bool IsWildcard(std::string_view host);
// Whether `host` only reaches this machine.
bool IsLoopback(std::string_view host);

// The numeric address of `host`, for binding; names are looked up (may block).
// InvalidArgument for a name that is not known.
absl::StatusOr<std::string> ResolveHost(const std::string& host);

// This machine's address on the way to `peer` (the interface that the routing
// table names; nothing is sent). "127.0.0.1" if there is no way.
std::string LocalAddressToward(const Address& peer);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_ADDRESS_H_
