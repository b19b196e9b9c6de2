#include "core/net/allow_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

constexpr absl::Duration kFolderPollInterval = absl::Seconds(1);
// A folder changed less than this ago may change again with the same time
// stamp.
constexpr absl::Duration kStampAge = absl::Seconds(2);
constexpr size_t kKeysMax = 100'000;

}  // namespace

absl::StatusOr<std::shared_ptr<AllowList>> AllowList::Open(
    const std::string& folder, std::vector<Role> roles) {
  std::shared_ptr<AllowList> list(new AllowList(folder, std::move(roles)));
  absl::Status first_error;
  list->looked_at_ = SteadyNow();
  list->stamps_ = list->LookAtFolders();
  list->keys_ = list->Load(first_error);
  FM_RETURN_IF_ERROR(first_error);
  return list;
}

std::optional<Role> AllowList::RoleOf(std::string_view public_key) {
  const std::lock_guard lock(mu_);
  const absl::Time now = SteadyNow();
  if (now - looked_at_ >= kFolderPollInterval) {
    looked_at_ = now;
    Refresh();
  }
  const auto found = keys_.find(public_key);
  if (found == keys_.end()) return std::nullopt;
  return found->second;
}

std::string AllowList::Places() const {
  std::string places;
  for (const Role role : roles_) {
    places += (places.empty() ? "" : ", ") + Place(role);
  }
  return places;
}

std::string AllowList::Place(Role role) const {
  return fmt::format("{}/{}", folder_, RoleFolder(role));
}

AllowList::Stamps AllowList::LookAtFolders() const {
  Stamps stamps;
  const absl::Time now = absl::Now();
  for (const Role role : roles_) {
    struct stat status {};
    absl::Time changed = absl::InfinitePast();
    if (stat(Place(role).c_str(), &status) == 0) {
      changed = absl::TimeFromTimespec(status.st_mtim);
      if (now - changed < kStampAge) changed = now;
    }
    stamps.push_back(changed);
  }
  return stamps;
}

AllowList::Keys AllowList::Load(absl::Status& first_error) const {
  Keys keys;
  for (const Role role : roles_) LoadFolder(role, keys, first_error);
  return keys;
}

void AllowList::LoadFolder(Role role, Keys& keys,
                           absl::Status& first_error) const {
  const auto fail = [&](absl::Status status) {
    if (first_error.ok()) first_error = std::move(status);
  };
  std::error_code error;
  std::vector<std::string> paths;
  std::filesystem::directory_iterator entry(Place(role), error);
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() == ".pub") paths.push_back(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail(InvalidArgument("{}: cannot read the folder: {}", Place(role),
                         error.message()));
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    absl::StatusOr<std::string> key = ReadPublicKey(path, role);
    if (!key.ok()) {
      fail(key.status());
    } else if (keys.size() == kKeysMax) {
      return fail(InvalidArgument("{}: more than {} keys", folder_, kKeysMax));
    } else {
      keys.emplace(*std::move(key), role);
    }
  }
}

void AllowList::Refresh() {
  Stamps stamps = LookAtFolders();
  if (stamps == stamps_) return;
  absl::Status first_error;
  Keys keys = Load(first_error);
  if (!first_error.ok()) {
    LogWarning("a key was left out: {}", ErrorText(first_error));
  }
  if (keys != keys_) LogInfo("{} keys are listed now", keys.size());
  keys_ = std::move(keys);
  stamps_ = std::move(stamps);
}

}  // namespace feedmill
