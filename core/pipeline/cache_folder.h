#ifndef FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/pipeline/stored_rows.h"
#include "feedmill/chunk.h"

namespace feedmill {

// Rows that were made together, and of what.
struct CacheSegment {
  // Of a block (positions has it alone): its rows [first, first + count).
  bool block = false;
  uint64_t first = 0;
  uint64_t count = 0;
  bool more = false;  // the block goes on behind them
  // Else what these made, one element each at most.
  std::vector<uint64_t> positions;
  // The chunk's rows are of those of the count, or positions, that origins
  // names; else of all.
  bool dropped = false;
  std::vector<uint32_t> origins;
  KeptRows rows;
};

// What caches of one key keep on disk: files in a folder of that name, each
// written whole under another name and then given its own, which is a hash of
// it. Any number of processes may write and read at a time. Files are not
// changed by feedmill, and may be deleted at any time.
//
// Checks of a file:
//   head   (what the rows are of, where they lie, the checksums of their parts)
//          copied into memory and checked once, when the file is found;
//   rows   copied into memory and checked there at every read, by parts
//          (StoredReader).
// A file that fails a check is dropped: it is deleted, a line on stderr names
// it, and all its elements are made again and written to another file.
//
// Thread-safety: any thread.
class CacheFolder {
 public:
  // A key's, which is also the name of its folder: hexadecimal digits.
  static constexpr size_t kKeyBytes = 32;
  static constexpr std::string_view kExtension = ".rows";
  // Files begin with it. A cache of another format has another key.
  static constexpr std::string_view kFormat = "feedmill cache 2";
  // Bytes of values that go into one file.
  static constexpr size_t kFileBytes = size_t{8} << 20;

  CacheFolder(const std::string& path, std::string key,
              std::shared_ptr<const ElementSpec> spec);

  // Returns the segments of the files that are new since the last call. A file
  // whose head is damaged is dropped, one that cannot be read is left out; both
  // are reported on stderr. Marks the folder as used now (kept_caches.h), and
  // removes what killed writers left.
  std::vector<CacheSegment> ReadNew();

  // Writes a file, and gives back the segments as they lie in it. Unavailable
  // where that is not possible.
  absl::StatusOr<std::vector<CacheSegment>> Write(
      const std::vector<CacheSegment>& segments);

  // Drops a file that could not be read because of `why`: DataLoss, or NotFound
  // (another process deleted the file; not reported). Returns false if the file
  // was dropped before.
  bool Drop(CacheFile& file, const absl::Status& why);

  // Reports on stderr what is wrong with a file or the folder, and what that
  // means. Prints up to kWarningsAtOnce lines at once and one more each second;
  // the next line that is printed counts those that were left out.
  void Warn(const std::string& path, const std::string& what);

  const std::string& path() const { return path_; }

 private:
  static constexpr int kWarningsAtOnce = 10;
  absl::StatusOr<std::vector<CacheSegment>> ReadFile(
      const std::string& name) const;
  void Delete(const std::string& path, const absl::Status& why);

  const std::string path_;  // with the key
  const std::string key_;
  const std::shared_ptr<const ElementSpec> spec_;
  std::mutex mutex_;
  std::set<std::string> read_;  // files, by name

  std::mutex warning_mutex_;
  // Guarded by warning_mutex_: when lines were added to those that may be
  // printed, their number, and how many were not printed since the last.
  std::chrono::steady_clock::time_point counted_ =
      std::chrono::steady_clock::now();
  int warnings_left_ = kWarningsAtOnce;
  uint64_t warnings_left_out_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_
