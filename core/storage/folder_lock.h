#ifndef FEEDMILL_CORE_STORAGE_FOLDER_LOCK_H_
#define FEEDMILL_CORE_STORAGE_FOLDER_LOCK_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// Opens a file for reading and writing. `flags`: O_CREAT makes it if it is
// missing. Other accounts can neither read nor write it; its group can if an
// operator let it. -1: errno says why.
int OpenPrivate(const std::string& path, int flags);

// True if `path` still names the open file.
bool IsFileAt(int file, const std::string& path);

// An exclusive lock on a folder: an flock on the file `lock` in it, whose text
// names the holder. Ends with the process, even after a crash. Movable;
// thread-compatible.
class FolderLock {
 public:
  // Makes the folder if it is missing, for this account only.
  // FailedPrecondition names the process that holds the lock; with `wait`, it
  // waits for that process to end instead, or for `stop` to be true: Cancelled.
  // InvalidArgument or Unavailable if the folder cannot be used.
  static absl::StatusOr<FolderLock> Take(
      const std::string& folder, bool wait = false,
      const std::function<bool()>& stop = {});

  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

  // Adds the holder's address to the lock's text: "tcp://host:port".
  absl::Status SayAddress(const std::string& address);

 private:
  FolderLock(int file, std::string path)
      : file_(file), path_(std::move(path)) {}
  // False if another process holds it.
  absl::StatusOr<bool> Try();
  absl::Status Write(const std::string& text);

  int file_ = -1;
  std::string path_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_FOLDER_LOCK_H_
