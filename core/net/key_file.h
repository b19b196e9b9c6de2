#ifndef FEEDMILL_CORE_NET_KEY_FILE_H_
#define FEEDMILL_CORE_NET_KEY_FILE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// Permissions of a key's owner. Roles are separate: each key has one.
enum class Role { kDispatcher, kWorker, kClient, kOperator };

std::string_view RoleName(Role role);  // "dispatcher", "worker", …
std::optional<Role> RoleNamed(std::string_view name);
// Name of the folder that lists the keys of `role`: "workers", …
std::string_view RoleFolder(Role role);

// A Curve25519 key pair, each 64 lower-case hex digits. The secret key never
// appears in a message, a log or an error.
struct KeyPair {
  std::string public_key;
  std::string secret_key;
};
KeyPair DrawKeyPair();

bool IsKeyText(std::string_view text);
// The first digits of a public key, for messages.
std::string ShortKey(std::string_view public_key);

// The content of a key file. Without a secret key it is a public key file.
struct KeyFile {
  Role role = Role::kClient;
  std::string public_key;
  std::optional<std::string> secret_key;
};

// Formats and parses the text of a key file. InvalidArgument names the fault
// and never quotes the text.
std::string KeyFileText(const KeyFile& key);
absl::StatusOr<KeyFile> ParseKeyFile(std::string_view text);

// Reads the key of `role` from a file. NotFound if the file is missing.
// InvalidArgument if it is damaged, belongs to another role, or is a secret
// that other users can read. Its mode must be 0600 or stricter, or 0640 if root
// owns it and this process is another user's.
absl::StatusOr<KeyPair> ReadSecretKey(const std::string& path, Role role);
absl::StatusOr<std::string> ReadPublicKey(const std::string& path, Role role);

// Writes a key file. FailedPrecondition if the file exists. Secret key files
// have mode 0600 from the start.
absl::Status WriteKeyFile(const std::string& path, const KeyFile& key);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_KEY_FILE_H_
