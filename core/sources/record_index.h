#ifndef FEEDMILL_CORE_SOURCES_RECORD_INDEX_H_
#define FEEDMILL_CORE_SOURCES_RECORD_INDEX_H_

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
#include "core/sources/file_system.h"
#include "core/sources/framing.h"

namespace feedmill {

// Where the records of a file begin (what stands between them, such as empty
// lines, is the one's before), and at last where the file ends.
// A TFRecord file that is damaged behind its first record has one bad record
// more: what is left of it, of which only the beginning counts.
struct RecordIndex {
  std::vector<uint64_t> offsets;  // records + 1
  uint64_t records() const { return offsets.size() - 1; }
};

// Reads what is needed of `file` (TFRecord: the headers only). DataLoss for a
// corrupt one, naming path, record and offset.
absl::StatusOr<RecordIndex> BuildRecordIndex(const Framing& framing,
                                             const File& file,
                                             const std::string& path,
                                             uint64_t size);

// The indexes that were used last, up to a number of bytes. Any thread.
class RecordIndexCache {
 public:
  // `folder`: where large ones are kept for other processes (IndexFolder).
  explicit RecordIndexCache(size_t bytes_max, std::string folder = "")
      : bytes_max_(bytes_max), folder_(std::move(folder)) {}

  // The index of the file as `stat` describes it; built if it is not here.
  absl::StatusOr<std::shared_ptr<const RecordIndex>> Get(
      const Framing& framing, const File& file, const std::string& path,
      const FileStat& stat);

 private:
  struct Key {
    Framing framing;
    std::string path;
    uint64_t size;
    int64_t mtime_ns;
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

#endif  // FEEDMILL_CORE_SOURCES_RECORD_INDEX_H_
