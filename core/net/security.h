#ifndef FEEDMILL_CORE_NET_SECURITY_H_
#define FEEDMILL_CORE_NET_SECURITY_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/net/allow_list.h"
#include "core/net/key_file.h"
#include "core/wire/message.h"
#include "feedmill/endpoint.h"

// CURVE (Curve25519, as in CurveZMQ) on every socket: a peer that connects
// knows the server's public key and has a key that the server lists. See
// docs/security.md.

namespace feedmill {

// Keys of a listener: its own pair and the keys that may connect.
struct CurveServer {
  KeyPair own;
  std::shared_ptr<AllowList> allowed;
};
// Keys of a connection: its own pair and the server's public key.
struct CurveClient {
  KeyPair own;
  std::string server_key;
  // This process's role and the server's, for messages.
  Role role = Role::kClient;
  Role server = Role::kDispatcher;
};

// The keys of one process.
struct Security {
  Role role = Role::kClient;
  KeyPair own;
  std::string dispatcher_key;          // empty in a dispatcher
  std::shared_ptr<AllowList> allowed;  // null in clients and operators
};

// Reads the keys that a process of `role` needs; nullopt without `config.keys`.
// NotFound and InvalidArgument name the file and the remedy.
absl::StatusOr<std::optional<Security>> LoadSecurity(
    const SecurityConfig& config, Role role);
// The key arguments of Reactor::Listen and Reactor::Connect.
std::optional<CurveServer> ServerSide(const std::optional<Security>& security);
std::optional<CurveClient> ToDispatcher(
    const std::optional<Security>& security);

// The error of a server that refuses an unlisted key. Names the list to add the
// key to. FailedPrecondition.
absl::Status KeyNotListed(const std::string& server_address,
                          const CurveClient& client);

// OK if a server may listen at `host`: any host with keys or with
// `insecure_bind`, else loopback only. InvalidArgument names both remedies.
absl::Status CheckExposure(const std::string& host, bool has_keys,
                           bool insecure_bind);

// OK if a peer of `role` may send `message` to a server. FailedPrecondition
// names the role that may.
absl::Status CheckRole(Role role, const Message& message);

// A worker's name. With keys it holds the worker's public key too:
// "tcp://host:port#KEY".
struct WorkerAddress {
  std::string address;
  std::string key;  // empty: none
};
std::string WithKey(const std::string& address, const std::string& key);
WorkerAddress SplitKey(const std::string& worker);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SECURITY_H_
