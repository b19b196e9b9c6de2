#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/status.h"
#include "core/net/key_file.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"

namespace feedmill {
namespace {

constexpr char kKeygenSummary[] =
    "Makes key pairs for a service that encrypts its connections and admits "
    "listed\n"
    "peers only. Without --role: one pair for each role, the folder of a new\n"
    "service. With --role: one more pair, listed in the same folder.";
constexpr char kKeygenExamples[] =
    "DIR/NAME.key         secret (mode 0600): copy it to the machine of NAME,\n"
    "                     there named by its role: worker.key\n"
    "DIR/dispatcher.pub   for every process\n"
    "DIR/workers/*.pub, DIR/clients/*.pub, DIR/operators/*.pub\n"
    "                     the listed peers: for the dispatcher; clients/ also\n"
    "                     for workers\n"
    "\n"
    "Examples:\n"
    "  feedmill keygen --dir keys\n"
    "  feedmill up --host 0.0.0.0 --port 5050 --keys keys &\n"
    "  feedmill read squares.yaml --service $HOSTNAME:5050 --keys keys\n"
    "  feedmill status --service $HOSTNAME:5050 --keys keys\n"
    "  feedmill keygen --dir keys --role client --name alice";

bool IsName(const std::string& name) {
  if (name.empty() || name.size() > 64 || name.front() == '.') return false;
  for (const char c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                      c == '.';
    if (!fits) return false;
  }
  return true;
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return InvalidArgument("--dir: cannot make the folder '{}': {}", folder,
                           error.message());
  }
  return absl::OkStatus();
}

// Makes a key pair of `role`: NAME.key, and the public key in the folder where
// servers look for it.
absl::Status MakePair(const std::string& folder, Role role,
                      const std::string& name) {
  std::string listed = fmt::format("{}/dispatcher.pub", folder);
  if (role != Role::kDispatcher) {
    const std::string list = fmt::format("{}/{}", folder, RoleFolder(role));
    FM_RETURN_IF_ERROR(MakeFolder(list));
    listed = fmt::format("{}/{}.pub", list, name);
  }
  const std::string secret = fmt::format("{}/{}.key", folder, name);
  for (const std::string& path : {secret, listed}) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
      return FailedPrecondition(
          "{}: is there already and was left alone; choose another --dir or "
          "--name, or remove it",
          path);
    }
  }
  const KeyPair pair = DrawKeyPair();
  FM_RETURN_IF_ERROR(
      WriteKeyFile(secret, {role, pair.public_key, pair.secret_key}));
  FM_RETURN_IF_ERROR(
      WriteKeyFile(listed, {role, pair.public_key, std::nullopt}));
  fmt::print("{}\n{}\n", secret, listed);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunKeygen(const Invocation& invocation) {
  std::string folder = "feedmill-keys";
  std::string role_name;
  std::string name;
  FlagSet flags("keygen", kKeygenSummary, kKeygenExamples);
  flags.Text("--dir", "DIR", "Folder for the keys; created if missing",
             &folder);
  flags.OneOf("--role", {"dispatcher", "worker", "client", "operator"},
              "Make one pair only, for this role", &role_name);
  flags.Text("--name", "NAME",
             "Name of the holder, used in file names; default: the role",
             &name);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  const std::optional<Role> role = RoleNamed(role_name);
  if (!name.empty() && (!role || *role == Role::kDispatcher)) {
    return flags.Error("--name is for a --role worker, client or operator");
  }
  if (!name.empty() && !IsName(name)) {
    return flags.Error(
        "--name takes letters, digits, '-', '_' and '.', 64 at most");
  }
  FM_RETURN_IF_ERROR(MakeFolder(folder));
  const std::vector<Role> roles =
      role ? std::vector<Role>{*role}
           : std::vector<Role>{Role::kDispatcher, Role::kWorker, Role::kClient,
                               Role::kOperator};
  for (const Role each : roles) {
    FM_RETURN_IF_ERROR(MakePair(
        folder, each, name.empty() ? std::string(RoleName(each)) : name));
  }
  return 0;
}

}  // namespace feedmill
