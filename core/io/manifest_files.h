#ifndef FEEDMILL_CORE_IO_MANIFEST_FILES_H_
#define FEEDMILL_CORE_IO_MANIFEST_FILES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/byte_stream.h"
#include "core/io/file_system.h"
#include "core/io/manifest.h"
#include "core/io/record_index.h"

namespace feedmill {

// The files of a manifest, opened when they are needed and checked to be what
// they were when the job began. Keeps the last few open. Any thread.
class ManifestFiles {
 public:
  explicit ManifestFiles(std::shared_ptr<const Manifest> manifest);

  const ManifestFile& info(size_t file) const { return manifest_->files[file]; }
  const Manifest& manifest() const { return *manifest_; }
  uint64_t total() const { return first_.back(); }

  // The file that holds record `index`, and the record's number in it.
  struct Place {
    size_t file = 0;
    uint64_t record = 0;
  };
  Place Find(uint64_t index) const;
  // The same, quicker if it is in that file.
  Place FindNear(uint64_t index, size_t file) const {
    if (index < first_[file] || index >= first_[file + 1]) return Find(index);
    return {file, index - first_[file]};
  }

  absl::StatusOr<std::shared_ptr<const RandomAccessFile>> Open(
      size_t file) const;
  // The same, not kept open for others.
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenOnce(size_t file) const;
  absl::StatusOr<std::shared_ptr<const RecordIndex>> Index(
      const RecordFinder& finder, size_t file) const;
  // Fills `out` or fails; what it holds counts when Check, called later, finds
  // the file unchanged.
  absl::Status Fill(size_t file, const RandomAccessFile& opened,
                    uint64_t offset, std::span<std::byte> out) const;
  absl::Status Check(size_t file, const RandomAccessFile& opened) const;
  // Both.
  absl::Status Read(size_t file, const RandomAccessFile& opened,
                    uint64_t offset, std::span<std::byte> out) const;
  absl::Status Changed(size_t file) const;
  // Read, for a stream that goes through the file in order from `begin` to
  // about `end`: it announces what comes next (ReadAhead). This must outlive
  // it; one thread at a time.
  ReadFileAt ReadInOrder(size_t file,
                         std::shared_ptr<const RandomAccessFile> opened,
                         uint64_t begin, uint64_t end) const;
  // True if some name is a URL: reads may wait for a network, so readers
  // announce ranges of many files together. RandomAccessFile::ahead_bytes says
  // for which files.
  bool has_urls() const { return has_urls_; }

 private:
  // The status of a call for the file: FailedPrecondition if it is gone.
  absl::Status OrGone(size_t file, const absl::Status& status) const;

  struct OpenFile {
    size_t file;
    std::shared_ptr<const RandomAccessFile> opened;
  };

  const std::shared_ptr<const Manifest> manifest_;
  std::vector<uint64_t> first_;  // files + 1: the first record of each
  bool has_urls_ = false;

  mutable std::mutex mutex_;
  mutable std::list<OpenFile> open_;  // most recently used first
  mutable std::map<size_t, std::list<OpenFile>::iterator> by_file_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_MANIFEST_FILES_H_
