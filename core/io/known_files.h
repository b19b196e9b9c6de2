#ifndef FEEDMILL_CORE_IO_KNOWN_FILES_H_
#define FEEDMILL_CORE_IO_KNOWN_FILES_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/io/file_system.h"
#include "core/io/manifest_files.h"
#include "core/io/record_index.h"

namespace feedmill {

// A thread's cache of open files and indexes of a manifest, which saves the
// lookup by name for each read. A file that was closed is opened again. All
// calls must use the same manifest and finder.
class KnownFiles {
 public:
  absl::Status Open(const ManifestFiles& files, size_t file);
  // The file of the last Open.
  const std::shared_ptr<const RandomAccessFile>& opened() const {
    return opened_;
  }

  absl::Status FindIndex(const RecordFinder& finder, const ManifestFiles& files,
                         size_t file);
  // The index of the last FindIndex.
  const std::shared_ptr<const RecordIndex>& index() const { return index_; }

 private:
  struct Known {
    std::weak_ptr<const RandomAccessFile> opened;
    std::weak_ptr<const RecordIndex> index;
  };

  std::vector<Known> known_;  // by file
  std::shared_ptr<const RandomAccessFile> opened_;
  size_t opened_file_ = 0;
  std::shared_ptr<const RecordIndex> index_;
  size_t index_file_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_KNOWN_FILES_H_
