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

// Rows that were made together, and the positions that made them.
struct CacheSegment {
  // True for rows [first, first + count) of one block; `positions` has only its
  // position.
  bool block = false;
  uint64_t first = 0;
  uint64_t count = 0;
  bool more = false;  // the block continues after these rows
  // If not a block: the positions that made the rows, at most one element each.
  std::vector<uint64_t> positions;
  // If true, chunk row r belongs to row or position number origins[r].
  // Otherwise no row was dropped.
  bool dropped = false;
  std::vector<uint32_t> origins;
  KeptRows rows;
};

// The files on disk of the caches with one key, in a folder of that name. A
// file is written completely under a temporary name, then renamed to a hash of
// its contents. Any number of processes may read and write at the same time.
// feedmill never changes a file. Files may be deleted at any time.
//
// Checks of a file:
//   head   (the source of the rows, their places, the checksums of their parts)
//          copied into memory and checked once, when the file is found;
//   rows   copied into memory and checked there at every read, by parts
//          (StoredReader).
// A file that fails a check is dropped: it is deleted, a line on stderr names
// it, and all its elements are made again and written to another file.
//
// Thread-safety: any thread.
class CacheFolder {
 public:
  // Length of a key, which is also the name of its folder, in hexadecimal
  // digits.
  static constexpr size_t kKeyBytes = 32;
  static constexpr std::string_view kExtension = ".rows";
  // First bytes of each file. A cache of another format has another key.
  static constexpr std::string_view kFormat = "feedmill cache 2";
  // Bytes of values in one file.
  static constexpr size_t kFileBytes = size_t{8} << 20;

  CacheFolder(const std::string& path, std::string key,
              std::shared_ptr<const ElementSpec> spec);

  // Returns the segments of the files that appeared since the last call. A file
  // whose head is damaged is dropped. A file that cannot be read is skipped.
  // Both are reported on stderr. Marks the folder as used now (kept_caches.h),
  // and removes unfinished files of killed writers.
  std::vector<CacheSegment> ReadNew();

  // Writes a file, and returns the segments as stored in it. Unavailable if the
  // file cannot be written.
  absl::StatusOr<std::vector<CacheSegment>> Write(
      const std::vector<CacheSegment>& segments);

  // Drops a file that could not be read because of `why`: DataLoss, or NotFound
  // (another process deleted the file; not reported). Returns false if the file
  // was dropped before.
  bool Drop(CacheFile& file, const absl::Status& why);

  // Reports on stderr what is wrong with a file or the folder, and the
  // consequence. Prints up to kWarningsAtOnce lines at once and one more each
  // second. The next printed line counts the suppressed lines.
  void Warn(const std::string& path, const std::string& what);

  const std::string& path() const { return path_; }

 private:
  static constexpr int kWarningsAtOnce = 10;
  absl::StatusOr<std::vector<CacheSegment>> ReadFile(
      const std::string& name) const;
  void Delete(const std::string& path, const absl::Status& why);

  const std::string path_;  // including the key
  const std::string key_;
  const std::shared_ptr<const ElementSpec> spec_;
  std::mutex mutex_;
  std::set<std::string> read_;  // files, by name

  std::mutex warning_mutex_;
  // Guarded by warning_mutex_: time of the last refill of warnings_left_, lines
  // that may still be printed, and lines suppressed since the last printed one.
  std::chrono::steady_clock::time_point counted_ =
      std::chrono::steady_clock::now();
  int warnings_left_ = kWarningsAtOnce;
  uint64_t warnings_left_out_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_
