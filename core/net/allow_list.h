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

// Who may speak to a server: the public keys (*.pub) in the folders of some
// roles, "workers", "clients", "operators". Files that come and go count within
// a second or two, without a restart.
//
// Thread-safety: every method from any thread.
class AllowList {
 public:
  // InvalidArgument where a file is damaged, of another folder's role, or in
  // two folders; a folder that is missing is empty.
  static absl::StatusOr<std::shared_ptr<AllowList>> Open(
      const std::string& folder, std::vector<Role> roles);

  // The role of the key's owner; nullopt: not listed (any more).
  std::optional<Role> RoleOf(std::string_view public_key);
  // The folders, for messages: "keys/workers, keys/clients".
  std::string Places() const;

 private:
  using Keys = std::map<std::string, Role, std::less<>>;
  // What tells that a folder has changed.
  using Stamps = std::vector<absl::Time>;

  AllowList(std::string folder, std::vector<Role> roles)
      : folder_(std::move(folder)), roles_(std::move(roles)) {}

  std::string Place(Role role) const;
  Stamps LookAtFolders() const;
  // The keys that are right; `first_error` tells of the others.
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
