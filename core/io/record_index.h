#ifndef FEEDMILL_CORE_IO_RECORD_INDEX_H_
#define FEEDMILL_CORE_IO_RECORD_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/random_access_file.h"

namespace feedmill {

// Offsets at which the records of a file begin, and then the end of the file.
// Bytes between records, such as empty lines, belong to the record before them.
struct RecordIndex {
  std::vector<uint64_t> offsets;  // records + 1
  uint64_t records() const { return offsets.size() - 1; }
};

// Finds the records of a file. Immutable. Thread-safety: any thread.
class RecordFinder {
 public:
  virtual ~RecordFinder() = default;

  // Finders with the same name find the same records in the same bytes. The
  // name identifies indexes that are kept for later processes.
  const std::string& name() const { return name_; }

  // Reads the needed part of `file`, which has `size` bytes. DataLoss for a
  // corrupt file; the error names file, record and offset.
  virtual absl::StatusOr<RecordIndex> Find(const RandomAccessFile& file,
                                           uint64_t size) const = 0;

 protected:
  explicit RecordFinder(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

// LRU cache of indexes, bounded in bytes. Thread-safety: any thread.
class RecordIndexCache {
 public:
  // `folder`: keeps large indexes for other processes (IndexFolder).
  explicit RecordIndexCache(size_t bytes_max, std::string folder = "")
      : bytes_max_(bytes_max), folder_(std::move(folder)) {}

  // Returns the index of the file with that identity. Builds it if it is not
  // cached.
  absl::StatusOr<std::shared_ptr<const RecordIndex>> Get(
      const RecordFinder& finder, const RandomAccessFile& file,
      const FileIdentity& identity);

 private:
  struct Key {
    std::string finder;
    std::string file;
    FileIdentity identity;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const RecordIndex> index;
    size_t bytes = 0;
  };

  const size_t bytes_max_;
  const std::string folder_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::map<Key, std::list<Entry>::iterator> by_key_;
  size_t bytes_ = 0;
};

// Returns the cache of this process. Counting a file's records when a job
// begins caches the index that later reads need.
RecordIndexCache& ProcessRecordIndexes();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RECORD_INDEX_H_
