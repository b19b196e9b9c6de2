#include "core/storage/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/status.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

// Returns the text that the lock's holder wrote, one line.
std::string HolderOf(int file) {
  std::array<char, 512> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  std::string holder(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
  while (!holder.empty() && holder.back() == '\n') holder.pop_back();
  return holder.empty() ? "another process" : holder;
}

}  // namespace

int OpenPrivate(const std::string& path, int flags) {
  constexpr mode_t kOwner = 0600;
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | flags, kOwner);
  struct stat info {};
  if (file >= 0 && fstat(file, &info) == 0 && (info.st_mode & S_IRWXO) != 0) {
    // A file of an earlier release. If another account owns it, it stays.
    static_cast<void>(fchmod(file, kOwner));
  }
  return file;
}

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all,
                                 error);
  }
  if (error || !std::filesystem::is_directory(folder, error)) {
    return InvalidArgument(
        "cannot use the folder '{}': {}; name one that is there or can be "
        "made",
        folder, error ? error.message() : "it is not a folder");
  }
  const std::string path = folder + "/lock";
  const int file = OpenPrivate(path, O_CREAT);
  if (file < 0) {
    return Unavailable("cannot open '{}': {}", path, std::strerror(errno));
  }
  FolderLock lock(file, path);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return Unavailable("cannot lock '{}': {}", path, std::strerror(errno));
    }
    return FailedPrecondition(
        "the folder '{}' is in use by {}; stop it first, or name another "
        "folder",
        folder, HolderOf(file));
  }
  FM_RETURN_IF_ERROR(lock.Write(fmt::format("process {}", getpid())));
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  return *this;
}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

absl::Status FolderLock::SayAddress(const std::string& address) {
  return Write(fmt::format("process {} at {}", getpid(), address));
}

absl::Status FolderLock::Write(const std::string& text) {
  const std::string line = text + "\n";
  const ssize_t written = pwrite(file_, line.data(), line.size(), 0);
  if (written != static_cast<ssize_t>(line.size()) ||
      ftruncate(file_, written) != 0) {
    return Unavailable("cannot write '{}': {}", path_, WriteErrorText(errno));
  }
  return absl::OkStatus();
}

}  // namespace feedmill
