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

// CURVE (Curve25519, as in CurveZMQ) on every socket: who connects knows the
// server's public key and has a key that the server lists. docs/security.md.

namespace feedmill {

// What a listener needs: its own pair, and who may connect.
struct CurveServer {
  KeyPair own;
  std::shared_ptr<AllowList> allowed;
};
// What a connection needs: its own pair, and the server's public key.
struct CurveClient {
  KeyPair own;
  std::string server_key;
  // For messages: this process's role, and the server's.
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

// Reads what a process of `role` needs; nullopt without `config.keys`.
// NotFound or InvalidArgument name the file and what to do.
absl::StatusOr<std::optional<Security>> LoadSecurity(
    const SecurityConfig& config, Role role);
// What Reactor::Listen and Connect take.
std::optional<CurveServer> ServerSide(const std::optional<Security>& security);
std::optional<CurveClient> ToDispatcher(
    const std::optional<Security>& security);

// Why a server refuses a key that it does not list, and which list to add it
// to. FailedPrecondition.
absl::Status KeyNotListed(const std::string& server_address,
                          const CurveClient& client);

// Whether a server may listen at `host`: only on loopback, unless it has keys
// or was told that everybody may connect. InvalidArgument names both ways out.
absl::Status CheckExposure(const std::string& host, bool has_keys,
                           bool insecure_bind);

// Whether a peer of `role` may send this to a server. FailedPrecondition names
// the role that may.
absl::Status CheckRole(Role role, const Message& message);

// With keys a worker's name says where it is and which key it has there:
// "tcp://host:port#KEY".
struct WorkerAddress {
  std::string address;
  std::string key;  // empty: none
};
std::string WithKey(const std::string& address, const std::string& key);
WorkerAddress SplitKey(const std::string& worker);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SECURITY_H_
