#include "core/net/security.h"

#include <utility>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/net/address.h"

namespace feedmill {
namespace {

// Returns the roles that may connect to a server of `role`.
std::vector<Role> AllowedAt(Role role) {
  if (role == Role::kDispatcher) {
    return {Role::kWorker, Role::kClient, Role::kOperator};
  }
  if (role == Role::kWorker) return {Role::kClient};
  return {};
}

absl::StatusOr<std::string> DispatcherKey(const SecurityConfig& config) {
  if (IsKeyText(config.server_key)) return config.server_key;
  if (!config.server_key.empty()) {
    absl::StatusOr<std::string> key =
        ReadPublicKey(config.server_key, Role::kDispatcher);
    if (absl::IsNotFound(key.status())) {
      return NotFound(
          "server key '{}' is neither a key (64 hex digits) nor a file that "
          "holds one",
          config.server_key);
    }
    return key;
  }
  const std::string path = config.keys + "/dispatcher.pub";
  absl::StatusOr<std::string> key = ReadPublicKey(path, Role::kDispatcher);
  if (absl::IsNotFound(key.status())) {
    return NotFound(
        "{}: the dispatcher's public key is missing; copy it from the keys of "
        "the dispatcher, or give it as the server key",
        path);
  }
  return key;
}

Role SenderOf(const Message& message) {
  if (std::holds_alternative<WorkerBeat>(message)) return Role::kWorker;
  if (const auto* relay = std::get_if<Relay>(&message)) {
    return relay->client.empty() ? Role::kClient : Role::kWorker;
  }
  if (std::holds_alternative<StatusRequest>(message)) return Role::kOperator;
  return Role::kClient;
}

}  // namespace

absl::StatusOr<std::optional<Security>> LoadSecurity(
    const SecurityConfig& config, Role role) {
  if (config.keys.empty()) {
    if (config.server_key.empty()) return std::nullopt;
    return InvalidArgument(
        "a server key was given, but no folder with keys of this process; make "
        "some with 'feedmill keygen' and name their folder");
  }
  Security security;
  security.role = role;
  const std::string path =
      fmt::format("{}/{}.key", config.keys, RoleName(role));
  absl::StatusOr<KeyPair> own = ReadSecretKey(path, role);
  if (absl::IsNotFound(own.status())) {
    return NotFound(
        "{}: the key of this {} is missing; make it with 'feedmill keygen "
        "--dir {} --role {}'",
        path, RoleName(role), config.keys, RoleName(role));
  }
  if (!own.ok()) return own.status();
  security.own = *std::move(own);
  if (role != Role::kDispatcher) {
    FM_ASSIGN_OR_RETURN(security.dispatcher_key, DispatcherKey(config));
  }
  std::vector<Role> allowed = AllowedAt(role);
  if (!allowed.empty()) {
    FM_ASSIGN_OR_RETURN(security.allowed,
                        AllowList::Open(config.keys, std::move(allowed)));
  }
  return security;
}

std::optional<CurveServer> ServerSide(const std::optional<Security>& security) {
  if (!security.has_value()) return std::nullopt;
  return CurveServer{security->own, security->allowed};
}

std::optional<CurveClient> ToDispatcher(
    const std::optional<Security>& security) {
  if (!security.has_value()) return std::nullopt;
  return CurveClient{security->own, security->dispatcher_key, security->role,
                     Role::kDispatcher};
}

absl::Status KeyNotListed(const std::string& server_address,
                          const CurveClient& client) {
  const std::string_view server = RoleName(client.server);
  const std::string_view role = RoleName(client.role);
  const std::string_view list = RoleFolder(client.role);
  return FailedPrecondition(
      "{} does not accept this key: the public key {} of this {} is not in the "
      "folder {}/ of the {}'s --keys. Copy the file {}/{}.pub that 'feedmill "
      "keygen' wrote beside this {}'s secret key into that folder, on the "
      "machine of the {}",
      server_address, ShortKey(client.own.public_key), role, list, server, list,
      role, role, server);
}

absl::Status CheckExposure(const std::string& host, bool has_keys,
                           bool insecure_bind) {
  if (has_keys || insecure_bind) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(const std::string numeric, ResolveHost(host));
  if (IsLoopback(numeric)) return absl::OkStatus();
  return InvalidArgument(
      "listening at {} without keys would let any process that reaches this "
      "machine read its data and give it work. Make keys (feedmill keygen "
      "--dir D, then --keys D everywhere), or, on a network that you trust, "
      "say --insecure-bind",
      host);
}

absl::Status CheckRole(Role role, const Message& message) {
  const Role needed = SenderOf(message);
  if (role == needed) return absl::OkStatus();
  return FailedPrecondition(
      "the sender's key has the role {}, and only the role {} may send this "
      "message",
      RoleName(role), RoleName(needed));
}

std::string WithKey(const std::string& address, const std::string& key) {
  return address + "#" + key;
}

WorkerAddress SplitKey(const std::string& worker) {
  const size_t hash = worker.find('#');
  if (hash == worker.npos) return {worker, ""};
  return {worker.substr(0, hash), worker.substr(hash + 1)};
}

}  // namespace feedmill
