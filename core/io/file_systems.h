#ifndef FEEDMILL_CORE_IO_FILE_SYSTEMS_H_
#define FEEDMILL_CORE_IO_FILE_SYSTEMS_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace feedmill {

// Scheme of a URL: "s3" of "s3://bucket/name"; "" for a path.
std::string_view SchemeOf(std::string_view name);

// File systems by the scheme of the names that they have. Paths and file://
// are LocalFileSystem's from the beginning. Thread-safety: any thread.
//
//   FM_RETURN_IF_ERROR(ProcessFileSystems().Add("s3", MakeS3()));
class FileSystems {
 public:
  FileSystems();

  // `files` stays for good. InvalidArgument if the scheme is taken, or is not
  // lower-case letters, digits, '+', '-' and '.', a letter first.
  absl::Status Add(std::string scheme, std::shared_ptr<const FileSystem> files);

  // Puts another file system in the place of each but that of paths and
  // file://: `wrap` of it.
  using Wrap = std::function<std::shared_ptr<const FileSystem>(
      std::shared_ptr<const FileSystem> files)>;
  void WrapStores(const Wrap& wrap);

  // The file system that has `name`. InvalidArgument for an unknown scheme,
  // which lists the known ones.
  absl::StatusOr<const FileSystem*> Find(std::string_view name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const FileSystem>, std::less<>>
      by_scheme_;  // guarded by mutex_
};

// Those of this process. A program adds its own before it reads a file.
FileSystems& ProcessFileSystems();

// ProcessFileSystems().Find(name).
absl::StatusOr<const FileSystem*> FileSystemOf(std::string_view name);

// Open(name) of the file system that has `name`.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(
    const std::string& name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_SYSTEMS_H_
