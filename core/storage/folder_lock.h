#ifndef FEEDMILL_CORE_STORAGE_FOLDER_LOCK_H_
#define FEEDMILL_CORE_STORAGE_FOLDER_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// The right to use a folder, held by one process at a time: an flock on the
// file `lock` in it, which says who holds it. It ends with the process,
// however that ends. Movable; thread-compatible.
class FolderLock {
 public:
  // Makes the folder where it is missing. FailedPrecondition names the process
  // that holds it; InvalidArgument or Unavailable if the folder cannot be used.
  static absl::StatusOr<FolderLock> Take(const std::string& folder);

  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

  // Tells those who come later where the holder serves: "tcp://host:port".
  absl::Status SayAddress(const std::string& address);

 private:
  FolderLock(int file, std::string path)
      : file_(file), path_(std::move(path)) {}
  absl::Status Write(const std::string& text);

  int file_ = -1;
  std::string path_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_FOLDER_LOCK_H_
