#ifndef FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/pipeline/cache_storage.h"
#include "feedmill/element.h"

namespace feedmill {

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
class CacheFolder final : public CacheStorage {
 public:
  static constexpr std::string_view kExtension = ".rows";
  static constexpr size_t kFileBytes = size_t{8} << 20;

  CacheFolder(const std::string& path, const std::string& key,
              std::shared_ptr<const ElementSpec> spec);

  // Also deletes files whose head is damaged, marks the folder as used now
  // (stored_caches.h), and removes unfinished files of killed writers.
  std::vector<CacheSegment> ReadNew() override;
  absl::StatusOr<std::vector<CacheSegment>> Write(
      const std::vector<CacheSegment>& segments) override;
  // Each file is visible when it is written.
  absl::Status Commit() override { return absl::OkStatus(); }
  bool Drop(CacheFile& file, const absl::Status& why) override;
  size_t file_bytes() const override { return kFileBytes; }

 private:
  absl::StatusOr<std::vector<CacheSegment>> ReadFile(
      const std::string& name) const;
  void Delete(const std::string& file, const absl::Status& why);

  const std::string key_;
  const std::shared_ptr<const ElementSpec> spec_;
  std::mutex mutex_;
  std::set<std::string> read_;  // files, by name
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_FOLDER_H_
