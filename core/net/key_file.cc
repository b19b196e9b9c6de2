#include "core/net/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/base/check.h"
#include "core/base/status.h"
#include "core/process/owned_fd.h"
#include "core/process/write_error.h"
#include "zmq.hpp"

namespace feedmill {
namespace {

constexpr size_t kCurveKeyBytes = 32;
constexpr size_t kFileMax = 4'096;
constexpr std::string_view kFirstLine = "feedmill key 1";
struct RoleNames {
  Role value;
  std::string_view role;
  std::string_view folder;
};
constexpr std::array<RoleNames, 4> kRoles = {{
    {Role::kDispatcher, "dispatcher", "dispatchers"},
    {Role::kWorker, "worker", "workers"},
    {Role::kClient, "client", "clients"},
    {Role::kOperator, "operator", "operators"},
}};

const RoleNames& NamesOf(Role role) {
  return *std::find_if(
      kRoles.begin(), kRoles.end(),
      [role](const RoleNames& each) { return each.value == role; });
}

std::string KeyOfZ85(const char* z85) {
  uint8_t bytes[kCurveKeyBytes];
  FM_CHECK(zmq_z85_decode(bytes, z85) != nullptr);
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(bytes), kCurveKeyBytes});
}

struct FileText {
  std::string text;
  mode_t mode = 0;
  uid_t owner = 0;
};

// A file of root may be readable by a group: a Secret that Kubernetes mounts
// for a user other than root has mode 0440.
bool OthersMayRead(const FileText& file) {
  const bool of_another = file.owner == 0 && geteuid() != 0;
  return (file.mode & (of_another ? 0037 : 0077)) != 0;
}

absl::StatusOr<FileText> ReadText(const std::string& path) {
  // O_NONBLOCK: a pipe in place of the file must not block the process.
  const OwnedFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      return NotFound("{}: there is no such key file", path);
    }
    return InvalidArgument("{}: cannot read it: {}", path,
                           std::strerror(error));
  }
  if (!S_ISREG(status.st_mode)) {
    return InvalidArgument("{}: is not a file", path);
  }
  FileText result;
  result.mode = status.st_mode;
  result.owner = status.st_uid;
  result.text.resize(kFileMax + 1);
  const ssize_t got = read(file.get(), result.text.data(), result.text.size());
  if (got < 0) {
    return InvalidArgument("{}: cannot read it: {}", path,
                           std::strerror(errno));
  }
  result.text.resize(static_cast<size_t>(got));
  return result;
}

absl::StatusOr<KeyFile> ParseFor(const std::string& path,
                                 const std::string& text, Role role) {
  absl::StatusOr<KeyFile> key = ParseKeyFile(text);
  if (!key.ok()) return Annotate(key.status(), path);
  if (key->role != role) {
    return InvalidArgument(
        "{}: this key has the role {}; one with the role {} is needed here",
        path, RoleName(key->role), RoleName(role));
  }
  return key;
}

}  // namespace

std::string_view RoleName(Role role) { return NamesOf(role).role; }

std::optional<Role> RoleNamed(std::string_view name) {
  for (const RoleNames& each : kRoles) {
    if (each.role == name) return each.value;
  }
  return std::nullopt;
}

std::string_view RoleFolder(Role role) { return NamesOf(role).folder; }

KeyPair DrawKeyPair() {
  char public_key[41];
  char secret_key[41];
  FM_CHECK(zmq_curve_keypair(public_key, secret_key) == 0);
  return {KeyOfZ85(public_key), KeyOfZ85(secret_key)};
}

bool IsKeyText(std::string_view text) {
  return text.size() == 2 * kCurveKeyBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string ShortKey(std::string_view public_key) {
  return std::string(public_key.substr(0, 8)) + "…";
}

std::string KeyFileText(const KeyFile& key) {
  std::string text = fmt::format("{}\nrole {}\npublic {}\n", kFirstLine,
                                 RoleName(key.role), key.public_key);
  if (key.secret_key.has_value()) {
    text += fmt::format("secret {}\n", *key.secret_key);
  }
  return text;
}

absl::StatusOr<KeyFile> ParseKeyFile(std::string_view text) {
  const auto wrong = [] {
    return InvalidArgument("is no key file of 'feedmill keygen'");
  };
  if (text.size() > kFileMax) return wrong();
  KeyFile key;
  int line_number = 0;
  bool has_role = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) return InvalidArgument("ends within a line");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const size_t space = line.find(' ');
    const std::string_view value =
        space == line.npos ? std::string_view() : line.substr(space + 1);
    const std::string_view name = line.substr(0, space);
    if (++line_number == 1) {
      if (line != kFirstLine) return wrong();
    } else if (name == "role" && !has_role && RoleNamed(value).has_value()) {
      key.role = *RoleNamed(value);
      has_role = true;
    } else if (name == "public" && key.public_key.empty() && IsKeyText(value)) {
      key.public_key = value;
    } else if (name == "secret" && !key.secret_key && IsKeyText(value)) {
      key.secret_key = std::string(value);
    } else {
      return InvalidArgument("line {} is damaged", line_number);
    }
  }
  if (!has_role || key.public_key.empty()) return wrong();
  return key;
}

absl::StatusOr<KeyPair> ReadSecretKey(const std::string& path, Role role) {
  FM_ASSIGN_OR_RETURN(const FileText file, ReadText(path));
  if (OthersMayRead(file)) {
    return InvalidArgument(
        "{}: others may read or write this secret key (its mode is {:04o}); "
        "run: chmod 600 {}",
        path, file.mode & 0777, path);
  }
  FM_ASSIGN_OR_RETURN(KeyFile key, ParseFor(path, file.text, role));
  if (!key.secret_key.has_value()) {
    return InvalidArgument(
        "{}: holds only a public key; the .key file of "
        "'feedmill keygen' is needed here",
        path);
  }
  // Check that the keys are a pair. Otherwise every handshake would fail
  // without a reason.
  uint8_t secret[kCurveKeyBytes];
  for (size_t i = 0; i < kCurveKeyBytes; ++i) {
    secret[i] = static_cast<uint8_t>(
        std::stoi(key.secret_key->substr(2 * i, 2), nullptr, 16));
  }
  char secret_z85[41];
  char public_z85[41];
  FM_CHECK(zmq_z85_encode(secret_z85, secret, kCurveKeyBytes) != nullptr);
  FM_CHECK(zmq_curve_public(public_z85, secret_z85) == 0);
  if (KeyOfZ85(public_z85) != key.public_key) {
    return InvalidArgument("{}: its public and secret keys are not a pair",
                           path);
  }
  return KeyPair{std::move(key.public_key), *std::move(key.secret_key)};
}

absl::StatusOr<std::string> ReadPublicKey(const std::string& path, Role role) {
  FM_ASSIGN_OR_RETURN(const FileText file, ReadText(path));
  FM_ASSIGN_OR_RETURN(KeyFile key, ParseFor(path, file.text, role));
  return std::move(key.public_key);
}

absl::Status WriteKeyFile(const std::string& path, const KeyFile& key) {
  const mode_t mode = key.secret_key.has_value() ? 0600 : 0644;
  const OwnedFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) {
    if (errno == EEXIST) {
      return FailedPrecondition(
          "{}: is there already and was left alone; choose another --dir or "
          "--name, or remove it",
          path);
    }
    return InvalidArgument("{}: cannot make it: {}", path,
                           std::strerror(errno));
  }
  const std::string text = KeyFileText(key);
  // A write this short is complete or fails.
  if (write(file.get(), text.data(), text.size()) !=
          static_cast<ssize_t>(text.size()) ||
      fsync(file.get()) != 0) {
    const int error = errno;
    unlink(path.c_str());
    return Unavailable("{}: cannot write it: {}", path, WriteErrorText(error));
  }
  return absl::OkStatus();
}

}  // namespace feedmill
