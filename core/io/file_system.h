#ifndef FEEDMILL_CORE_IO_FILE_SYSTEM_H_
#define FEEDMILL_CORE_IO_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
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
  // Time of the last change since 1970, if a listing of a store has it; else 0.
  int64_t written_ns = 0;
};

// Opens and lists files. Names are paths, or URLs of the schemes that the file
// system is registered for (file_systems.h).
//
// Errors name the file. Errors that may be temporary are retried inside.
//
//   NotFound            the file does not exist
//   ResourceExhausted   this process reached a limit (file descriptors)
//   Unavailable         I/O error
//   FailedPrecondition  the file may not be read (no permission, a folder)
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
  // Opens a file whose identity the caller already knows; a store then needs no
  // request. If the file has changed or is gone, this call, or Identity or the
  // first Read of the opened file, reports it. Default: Open(name).
  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const;

  virtual absl::StatusOr<FileStat> Stat(const std::string& name) const = 0;
  // Calls Stat for each name and returns the results in the order of the names.
  // A store sends all requests at once. Default: one after the other.
  virtual std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const;

  // Returns the entries of a folder in no order, without "." and "..". A link
  // counts as its target. Broken links are left out.
  virtual absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const = 0;

  // Returns the files that `pattern` matches (glob.h), in any order, perhaps
  // repeated. The result is empty if nothing matches. Default: uses Stat and
  // List, from the root that the pattern begins with ("/", "s3://bucket/").
  virtual absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const;
  // Calls Glob for each pattern and returns the results in the order of the
  // patterns. A store sends all requests at once. Default: one after the other.
  virtual std::vector<absl::StatusOr<std::vector<FoundFile>>> GlobAll(
      std::span<const std::string> patterns) const;

  // Returns a file that a pattern with wildcards matches, without listing all
  // of them. NotFound if there is none. Default: NotFound, for a file system
  // that can only list all.
  virtual absl::StatusOr<std::string> FindOne(const std::string& pattern) const;

  // Makes or replaces a file. Readers see the old bytes or all of the new ones.
  // Default: InvalidArgument, for files that are only read.
  virtual absl::Status Write(const std::string& name,
                             std::string_view bytes) const;
  // Makes a file that does not exist yet, or one with these bytes. Returns
  // false if it exists, as s3://, gs:// and az:// can tell; another store
  // replaces the file. Readers see all of its bytes or no file, but of az://
  // with Azure's default credentials, whose file is empty at first. Default:
  // Write.
  virtual absl::StatusOr<bool> WriteNew(const std::string& name,
                                        std::string_view bytes) const;
  // Removes a file. OK if there is none. Default: InvalidArgument, like Write.
  // az:// with Azure's default credentials leaves an empty file. Readers of new
  // files take it for none.
  virtual absl::Status Remove(const std::string& name) const;
  // Removes all files below a folder. OK if there are none. Default: calls Glob
  // and, for many files at once, Remove.
  virtual absl::Status RemoveFolder(const std::string& folder) const;
  // Returns the name of the file `name` of a folder: "FOLDER/NAME", with the
  // options of the folder's URL behind it.
  std::string NameIn(const std::string& folder, std::string_view name) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_SYSTEM_H_
