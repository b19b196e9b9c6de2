#ifndef FEEDMILL_CORE_IO_FILE_SYSTEM_H_
#define FEEDMILL_CORE_IO_FILE_SYSTEM_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_identity.h"
#include "core/io/random_access_file.h"

namespace feedmill {

struct FileStat {
  FileIdentity identity;
  bool directory = false;
};

// A file that a pattern matches.
struct FoundFile {
  std::string name;
  std::optional<FileIdentity> identity{};  // if the listing has it
};

// A place where files are. Names are paths, or URLs of the schemes that the
// file system is registered for (file_systems.h).
//
// Errors name the file: NotFound for one that does not exist,
// ResourceExhausted if a limit of this process is reached (file descriptors),
// Unavailable for I/O errors, FailedPrecondition for a file that may not be
// read (no permission, a folder). Errors that may pass are retried inside.
//
// Thread-safety: any thread.
class FileSystem {
 public:
  struct Entry {
    std::string name;  // without its folder
    bool directory = false;
    std::optional<FileIdentity> identity{};  // if the listing has it
  };

  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const = 0;
  // Opens a file whose identity the caller knows from before. A store needs no
  // request for that. If the file has changed or is gone, this call, or the
  // opened file's Identity or first Read, tells. Default: Open(name).
  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const;

  virtual absl::StatusOr<FileStat> Stat(const std::string& name) const = 0;
  // Stat of each name, in their order; a store asks for all at once. Default:
  // one after the other.
  virtual std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const;

  // Content of a folder, in no order, without "." and "..". Links count as
  // what they point to; broken ones are left out.
  virtual absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const = 0;

  // Files that `pattern` matches (glob.h), in any order, maybe repeated; none
  // if nothing matches. Default: by Stat and List, from the root that the
  // pattern begins with ("/", "s3://bucket/").
  virtual absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const;
  // Glob of each pattern, in their order; a store asks for all at once.
  // Default: one after the other.
  virtual std::vector<absl::StatusOr<std::vector<FoundFile>>> GlobAll(
      std::span<const std::string> patterns) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_SYSTEM_H_
