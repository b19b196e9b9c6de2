#ifndef FEEDMILL_CORE_PIPELINE_CACHE_STORAGE_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_STORAGE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/pipeline/cache_file_text.h"

namespace feedmill {

// The place of the rows of a cache, for this and other processes: a folder on
// disk (CacheFolder) or objects of a store (CacheObjects).
//
// Thread-safety: any thread.
class CacheStorage {
 public:
  virtual ~CacheStorage() = default;
  CacheStorage(const CacheStorage&) = delete;
  CacheStorage& operator=(const CacheStorage&) = delete;

  // Returns the segments that other processes have stored since the last call.
  // A file that is damaged or cannot be read is left out, and reported on
  // stderr.
  virtual std::vector<CacheSegment> ReadNew() = 0;
  // Writes a file, and returns the segments as stored in it. Unavailable if the
  // file cannot be written.
  virtual absl::StatusOr<std::vector<CacheSegment>> Write(
      const std::vector<CacheSegment>& segments) = 0;
  // Makes the files that were written visible to other processes.
  virtual absl::Status Commit() = 0;
  // Drops a file that could not be read because of `why`: DataLoss, or NotFound
  // (another process deleted the file; not reported). Returns false if the file
  // was dropped before.
  virtual bool Drop(CacheFile& file, const absl::Status& why) = 0;
  // Bytes of values in one file.
  virtual size_t file_bytes() const = 0;
  // True if reads and writes wait for a network, and errors come only after
  // long waits. After such an error the storage is not used before the next
  // ReadNew.
  virtual bool is_remote() const { return false; }

  // Reports on stderr what is wrong with a file or with the storage, and the
  // consequence. Prints up to kWarningsAtOnce lines at once and one more each
  // second. The next printed line counts the suppressed lines.
  void Warn(const std::string& path, const std::string& what);

  // The folder of this cache: a path or a URL, including the key.
  const std::string& path() const { return path_; }

 protected:
  explicit CacheStorage(std::string path) : path_(std::move(path)) {}

 private:
  static constexpr int kWarningsAtOnce = 10;

  const std::string path_;
  std::mutex warning_mutex_;
  // Guarded by warning_mutex_: time of the last refill of warnings_left_, lines
  // that may still be printed, and lines suppressed since the last printed one.
  std::chrono::steady_clock::time_point counted_ =
      std::chrono::steady_clock::now();
  int warnings_left_ = kWarningsAtOnce;
  uint64_t warnings_left_out_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_STORAGE_H_
