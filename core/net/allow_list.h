#ifndef FEEDMILL_CORE_NET_ALLOW_LIST_H_
#define FEEDMILL_CORE_NET_ALLOW_LIST_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/net/key_file.h"

namespace feedmill {

// The public keys (*.pub) that may connect to a server, read from the folders
// of its peers' roles: "workers", "clients", "operators". Added and removed
// files take effect within 2 s, without a restart.
//
// Thread-safety: every method from any thread.
class AllowList {
 public:
  // InvalidArgument if a file is damaged, holds a key of another role, or is in
  // two folders. A missing folder counts as empty.
  static absl::StatusOr<std::shared_ptr<AllowList>> Open(
      const std::string& folder, std::vector<Role> roles);

  // Returns the role of the key's owner; nullopt if the key is not listed now.
  std::optional<Role> RoleOf(std::string_view public_key);
  // The folders' paths, for messages: "keys/workers, keys/clients".
  std::string Places() const;

 private:
  using Keys = std::map<std::string, Role, std::less<>>;
  // Modification times of the folders. A difference shows a change.
  using Stamps = std::vector<absl::Time>;

  AllowList(std::string folder, std::vector<Role> roles)
      : folder_(std::move(folder)), roles_(std::move(roles)) {}

  std::string Place(Role role) const;
  Stamps LookAtFolders() const;
  // Returns the valid keys. `first_error` gets the error of the first invalid
  // one.
  Keys Load(absl::Status& first_error) const;
  void LoadFolder(Role role, Keys& keys, absl::Status& first_error) const;
  void Refresh();

  const std::string folder_;
  const std::vector<Role> roles_;
  std::mutex mu_;
  Keys keys_;             // guarded by mu_
  Stamps stamps_;         // guarded by mu_
  absl::Time looked_at_;  // guarded by mu_, SteadyNow
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_ALLOW_LIST_H_
