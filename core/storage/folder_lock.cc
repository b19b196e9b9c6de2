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

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/process/write_error.h"
#include "core/storage/standby_file.h"

namespace feedmill {
namespace {

constexpr absl::Duration kBetweenTries = absl::Milliseconds(50);

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

bool IsFileAt(int file, const std::string& path) {
  struct stat own {};
  struct stat named {};
  return fstat(file, &own) == 0 && stat(path.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder,
                                            bool wait,
                                            const std::function<bool()>& stop) {
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
  StandbyFile standby(folder);
  while (true) {
    FolderLock lock(OpenPrivate(path, O_CREAT), path);
    if (lock.file_ < 0) {
      return Unavailable("cannot open '{}': {}", path, std::strerror(errno));
    }
    FM_ASSIGN_OR_RETURN(const bool taken, lock.Try());
    if (taken) {
      FM_RETURN_IF_ERROR(lock.Write(fmt::format("process {}", getpid())));
      return lock;
    }
    if (!wait) {
      return FailedPrecondition(
          "the folder '{}' is in use by {}; stop it first, name another "
          "folder, or wait for it with --standby",
          folder, HolderOf(lock.file_));
    }
    if (stop && stop()) return Cancelled("stopped while it waited");
    standby.Keep();
    absl::SleepFor(kBetweenTries);
  }
}

absl::StatusOr<bool> FolderLock::Try() {
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    return Unavailable("cannot lock '{}': {}", path_, std::strerror(errno));
  }
  // The file may have been deleted, and another one be in its place.
  return IsFileAt(file_, path_);
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
