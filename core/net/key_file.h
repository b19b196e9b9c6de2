#ifndef FEEDMILL_CORE_NET_KEY_FILE_H_
#define FEEDMILL_CORE_NET_KEY_FILE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// What the owner of a key may do. Roles are separate: no key has two.
enum class Role { kDispatcher, kWorker, kClient, kOperator };

std::string_view RoleName(Role role);  // "dispatcher", "worker", …
std::optional<Role> RoleNamed(std::string_view name);
// The folder that lists who may act as `role`: "workers", …
std::string_view RoleFolder(Role role);

// A Curve25519 key pair, each 64 lower-case hex digits. The secret one never
// appears in a message, a log or an error.
struct KeyPair {
  std::string public_key;
  std::string secret_key;
};
KeyPair DrawKeyPair();

bool IsKeyText(std::string_view text);
// The first digits of a public key: enough to find it, for messages.
std::string ShortKey(std::string_view public_key);

// What a key file holds; without a secret key it is a public one.
struct KeyFile {
  Role role = Role::kClient;
  std::string public_key;
  std::optional<std::string> secret_key;
};

// The text of a file and back. InvalidArgument says what is wrong with it, and
// never quotes it.
std::string KeyFileText(const KeyFile& key);
absl::StatusOr<KeyFile> ParseKeyFile(std::string_view text);

// Reads the key of `role` from a file. NotFound where there is none,
// InvalidArgument where it is damaged, another role's, or a secret that others
// could read (its mode must be 0600 or stricter).
absl::StatusOr<KeyPair> ReadSecretKey(const std::string& path, Role role);
absl::StatusOr<std::string> ReadPublicKey(const std::string& path, Role role);

// Writes one; never over a file that is there (FailedPrecondition). Secret ones
// have mode 0600 from the start.
absl::Status WriteKeyFile(const std::string& path, const KeyFile& key);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_KEY_FILE_H_
