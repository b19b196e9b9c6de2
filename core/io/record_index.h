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

// Where the records of a file begin (what stands between them, such as empty
// lines, is the one's before), and at last where the file ends.
struct RecordIndex {
  std::vector<uint64_t> offsets;  // records + 1
  uint64_t records() const { return offsets.size() - 1; }
};

// A way to find the records of a file. Immutable; any thread.
class RecordFinder {
 public:
  virtual ~RecordFinder() = default;

  // Finders of one name find the same records in the same bytes. Indexes that
  // are kept from one process to the next are found by it.
  const std::string& name() const { return name_; }

  // Reads what is needed of `file`, which has `size` bytes. DataLoss for a
  // corrupt one, naming file, record and offset.
  virtual absl::StatusOr<RecordIndex> Find(const RandomAccessFile& file,
                                           uint64_t size) const = 0;

 protected:
  explicit RecordFinder(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

// The indexes that were used last, up to a number of bytes. Any thread.
class RecordIndexCache {
 public:
  // `folder`: where large ones are kept for other processes (IndexFolder).
  explicit RecordIndexCache(size_t bytes_max, std::string folder = "")
      : bytes_max_(bytes_max), folder_(std::move(folder)) {}

  // The index of the file with that identity; built if it is not here.
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

// One for the process: counting a file's records when a job begins leaves the
// index that reading it needs.
RecordIndexCache& ProcessRecordIndexes();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RECORD_INDEX_H_
