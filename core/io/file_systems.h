#ifndef FEEDMILL_CORE_IO_FILE_SYSTEMS_H_
#define FEEDMILL_CORE_IO_FILE_SYSTEMS_H_

#include <cstdint>
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

// Registry of file systems by URL scheme. Paths and file:// always belong to
// LocalFileSystem. Thread-safety: any thread.
//
//   FM_RETURN_IF_ERROR(ProcessFileSystems().Add("s3", MakeS3()));
class FileSystems {
 public:
  FileSystems();

  // Registers `files` permanently. InvalidArgument if the scheme is already
  // taken. InvalidArgument also if it is not a lower-case letter and then
  // lower-case letters, digits, '+', '-' or '.'.
  absl::Status Add(std::string scheme, std::shared_ptr<const FileSystem> files);

  // Replaces each file system by `wrap` of it, except the one for paths
  // and file://.
  using Wrap = std::function<std::shared_ptr<const FileSystem>(
      std::shared_ptr<const FileSystem> files)>;
  void WrapStores(const Wrap& wrap);

  // Returns the file system for `name`. InvalidArgument if the scheme is
  // unknown; the error lists the known schemes.
  absl::StatusOr<const FileSystem*> Find(std::string_view name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const FileSystem>, std::less<>>
      by_scheme_;  // guarded by mutex_
};

// Returns the registry of this process. A program adds its file systems before
// it reads a file.
FileSystems& ProcessFileSystems();

// Shorthand for ProcessFileSystems().Find(name).
absl::StatusOr<const FileSystem*> FileSystemOf(std::string_view name);

// Opens `name` by the file system of its scheme. All bytes are of one version
// (unchanged_file.h).
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(
    const std::string& name);

// Opens a file that was found. If its identity is known, a store needs no
// request for it.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(
    const FoundFile& found);

// Reads all bytes of a file. InvalidArgument if it has more than `bytes_max`.
absl::StatusOr<std::string> ReadFile(const std::string& name,
                                     uint64_t bytes_max);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_SYSTEMS_H_
