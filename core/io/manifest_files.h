#ifndef FEEDMILL_CORE_IO_MANIFEST_FILES_H_
#define FEEDMILL_CORE_IO_MANIFEST_FILES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/byte_stream.h"
#include "core/io/file_system.h"
#include "core/io/manifest.h"
#include "core/io/record_index.h"

namespace feedmill {

// Opens the files of a manifest when they are needed, and checks that they have
// not changed since the job began. Keeps the last few files open.
// Thread-safety: any thread.
class ManifestFiles {
 public:
  explicit ManifestFiles(std::shared_ptr<const Manifest> manifest);

  const ManifestFile& info(size_t file) const { return manifest_->files[file]; }
  const Manifest& manifest() const { return *manifest_; }
  uint64_t total() const { return first_.back(); }
  uint64_t FirstRecordOf(size_t file) const { return first_[file]; }

  // The file that holds record `index`, and the record's number in it.
  struct Place {
    size_t file = 0;
    uint64_t record = 0;
  };
  Place Find(uint64_t index) const;
  // Returns the same as Find; faster if the record is in `file`.
  Place FindNear(uint64_t index, size_t file) const {
    if (index < first_[file] || index >= first_[file + 1]) return Find(index);
    return {file, index - first_[file]};
  }

  // Returns the record's name in errors: "a.npy: record 7".
  std::string NameOfRecord(uint64_t index) const;

  absl::StatusOr<std::shared_ptr<const RandomAccessFile>> Open(
      size_t file) const;
  // Opens a file as Open does, but does not keep it open for other calls.
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenOnce(size_t file) const;
  absl::StatusOr<std::shared_ptr<const RecordIndex>> Index(
      const RecordFinder& finder, size_t file) const;
  // Fills `out` or fails. The bytes are valid only if a later call of Check
  // finds the file unchanged.
  absl::Status Fill(size_t file, const RandomAccessFile& opened,
                    uint64_t offset, std::span<std::byte> out) const;
  absl::Status Check(size_t file, const RandomAccessFile& opened) const;
  // Calls Fill, then Check.
  absl::Status Read(size_t file, const RandomAccessFile& opened,
                    uint64_t offset, std::span<std::byte> out) const;
  absl::Status Changed(size_t file) const;
  // Returns Read for a stream that reads the file in order from `begin` to
  // about `end`. It announces the ranges ahead of the reads (ReadAhead). This
  // object must outlive it. Thread-safety: one thread at a time.
  ReadFileAt ReadInOrder(size_t file,
                         std::shared_ptr<const RandomAccessFile> opened,
                         uint64_t begin, uint64_t end) const;
  // True if some name is a URL. Reads may then wait for a network, so readers
  // announce ranges of many files together. RandomAccessFile::ahead_bytes tells
  // for which files.
  bool has_urls() const { return has_urls_; }

 private:
  // Returns `status` of a call for the file. FailedPrecondition if the file is
  // gone.
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
