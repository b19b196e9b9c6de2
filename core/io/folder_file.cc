#include "core/io/folder_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "core/base/status.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".new";
constexpr auto kWriteTimeMax = std::chrono::hours(1);
// Another process may remove a file before its writer has locked it, or remove
// the folder. The write is then tried again.
constexpr int kAttemptsMax = 100;

bool WriteWhole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

// Locks a new file, if the file system has locks. False if another process
// holds the lock, or removed the file because it looked abandoned.
bool LockNew(int file) {
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat stat {};
  return fstat(file, &stat) == 0 && stat.st_nlink > 0;
}

// Reports errors that a network file system returns only at close. The lock
// stays with the original descriptor.
bool CloseCopy(int file) {
  const int copy = dup(file);
  return copy >= 0 && close(copy) == 0;
}

// Writes `text` to the new file of `create`, and renames it to `path`. `create`
// returns a descriptor and a name, or -1 and sets errno.
absl::Status WriteAndRename(
    const std::function<std::pair<int, std::string>()>& create,
    const std::string& path, std::string_view text) {
  int why = 0;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto [file, temporary] = create();
    if (file < 0) {
      why = errno;
      if (why != ENOENT) break;
      continue;  // the folder was removed
    }
    if (!LockNew(file)) {
      why = EAGAIN;
      unlink(temporary.c_str());
      close(file);
      continue;
    }
    const bool wrote = WriteWhole(file, text) && CloseCopy(file) &&
                       rename(temporary.c_str(), path.c_str()) == 0;
    why = errno;
    if (!wrote) unlink(temporary.c_str());
    close(file);
    if (wrote) return absl::OkStatus();
    if (why != ENOENT) break;  // no locks here: another process removed it
  }
  return Unavailable("{}", WriteErrorText(why));
}

// True if no other machine writes to this file system, so that its locks
// suffice.
bool IsOfThisMachine(int file) {
  constexpr std::array<long, 9> kLocal = {
      EXT4_SUPER_MAGIC,      XFS_SUPER_MAGIC,      BTRFS_SUPER_MAGIC,
      F2FS_SUPER_MAGIC,      TMPFS_MAGIC,          RAMFS_MAGIC,
      OVERLAYFS_SUPER_MAGIC, REISERFS_SUPER_MAGIC, 0x2FC12FC1 /* ZFS */};
  struct statfs of {};
  return fstatfs(file, &of) == 0 &&
         std::find(kLocal.begin(), kLocal.end(),
                   static_cast<long>(of.f_type)) != kLocal.end();
}

// True if no process holds the lock of the file. `file` then holds it.
bool IsAbandoned(int file) {
  const bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno == EWOULDBLOCK) return false;
  if (locked && IsOfThisMachine(file)) return true;
  struct stat stat {};
  if (fstat(file, &stat) != 0) return false;
  const auto written = std::chrono::system_clock::from_time_t(stat.st_mtime);
  return std::chrono::system_clock::now() - written > kWriteTimeMax;
}

Unfinished Look(const fs::path& path, bool drop) {
  if (path.extension() != kUnfinished) return Unfinished::kNone;
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  // A network file system locks only files opened for writing.
  int file = open(path.c_str(), O_RDWR | kFlags);
  if (file < 0) file = open(path.c_str(), O_RDONLY | kFlags);
  if (file < 0) {
    return errno == ENOENT ? Unfinished::kNone : Unfinished::kBeingWritten;
  }
  struct stat stat {};
  const bool regular = fstat(file, &stat) == 0 && S_ISREG(stat.st_mode);
  auto state = Unfinished::kBeingWritten;
  if (regular && IsAbandoned(file)) {
    // Its writer may have finished and renamed it since it was opened here.
    struct stat now {};
    const bool same = lstat(path.c_str(), &now) == 0 &&
                      now.st_dev == stat.st_dev && now.st_ino == stat.st_ino;
    state = same ? Unfinished::kAbandoned : Unfinished::kNone;
  }
  if (state == Unfinished::kAbandoned) {
    // Removed while the lock is held: a writer that opens it now sees that it
    // is gone.
    if (drop && unlink(path.c_str()) != 0 && errno != ENOENT) {
      state = Unfinished::kBeingWritten;
    }
  }
  close(file);
  return state;
}

// Returns "NAME.123-0.new" for the file NAME: process id and number of the
// attempt.
std::string UnfinishedNameOf(const std::string& path) {
  static std::atomic<uint64_t> number = 0;
  return fmt::format("{}.{}-{}{}", path, getpid(), number++, kUnfinished);
}

bool IsUnfinishedOf(std::string_view name, std::string_view of) {
  if (!name.starts_with(of) || !name.ends_with(kUnfinished) ||
      name.size() < of.size() + 1 + kUnfinished.size()) {
    return false;
  }
  name.remove_prefix(of.size());
  name.remove_suffix(kUnfinished.size());
  return name.starts_with('.') &&
         std::all_of(name.begin() + 1, name.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
                  c == '-';
         });
}

}  // namespace

absl::Status WriteIntoFolder(const std::string& folder, const std::string& name,
                             std::string_view text) {
  const auto create = [&folder] {
    std::error_code error;
    fs::create_directories(folder, error);
    std::string temporary = fmt::format("{}/XXXXXX{}", folder, kUnfinished);
    const int file = mkostemps(temporary.data(),
                               static_cast<int>(kUnfinished.size()), O_CLOEXEC);
    return std::pair(file, temporary);
  };
  return WriteAndRename(create, folder + "/" + name, text);
}

absl::Status ReplaceFile(const std::string& path, std::string_view text) {
  const auto create = [&path] {
    std::string temporary = UnfinishedNameOf(path);
    const int file =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return std::pair(file, std::move(temporary));
  };
  return WriteAndRename(create, path, text);
}

void DropUnfinishedOf(const std::string& path) {
  const fs::path of(path);
  const fs::path folder = of.has_parent_path() ? of.parent_path() : ".";
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (IsUnfinishedOf(at->path().filename().string(),
                       of.filename().string())) {
      found.push_back(at->path());
    }
  }
  for (const fs::path& file : found) Look(file, /*drop=*/true);
}

Unfinished StateOf(const fs::directory_entry& entry) {
  return Look(entry.path(), /*drop=*/false);
}

Unfinished DropUnfinished(const fs::directory_entry& entry) {
  return Look(entry.path(), /*drop=*/true);
}

}  // namespace feedmill
