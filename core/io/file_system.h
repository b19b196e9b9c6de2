#ifndef FEEDMILL_CORE_IO_FILE_SYSTEM_H_
#define FEEDMILL_CORE_IO_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/guarded_mapping.h"

namespace feedmill {

struct FileStat {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  bool directory = false;
};

// An open file, for reading at any place. Any thread; closed when destroyed.
class File {
 public:
  virtual ~File() = default;
  virtual absl::StatusOr<FileStat> Stat() const = 0;
  // Fills `out` from `offset` on; returns how many bytes that were: fewer only
  // at the end of the file. Interrupted and short reads go on by themselves.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                        std::span<std::byte> out) const = 0;
  // The file's bytes in memory, as they were when it was mapped; lives as long
  // as this. Null: there is no such thing, or it is not worth it (yet).
  virtual const GuardedMapping* Mapping() const { return nullptr; }
  // Begins to bring bytes nearer that will be read soon; never waits for them.
  virtual void Prefetch(uint64_t offset, uint64_t size) const = 0;
};

// Where files are. Errors name the path: NotFound for what is not there,
// ResourceExhausted without file descriptors, Unavailable for I/O errors,
// FailedPrecondition for what may not be read (no permission, a folder).
class FileSystem {
 public:
  struct Entry {
    std::string name;  // without its folder
    bool directory = false;
  };

  virtual ~FileSystem() = default;
  virtual absl::StatusOr<std::unique_ptr<File>> Open(
      const std::string& path) const = 0;
  virtual absl::StatusOr<FileStat> Stat(const std::string& path) const = 0;
  // What is in a folder, in no order, without "." and "..". Links count as
  // what they point to; broken ones are left out.
  virtual absl::StatusOr<std::vector<Entry>> List(
      const std::string& directory) const = 0;
};

// This machine's.
const FileSystem& LocalFileSystem();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_SYSTEM_H_
