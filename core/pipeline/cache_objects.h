#ifndef FEEDMILL_CORE_PIPELINE_CACHE_OBJECTS_H_
#define FEEDMILL_CORE_PIPELINE_CACHE_OBJECTS_H_

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
#include "core/io/file_system.h"
#include "core/pipeline/cache_storage.h"
#include "feedmill/element.h"

namespace feedmill {

// The objects in a store of the caches with one key:
//
//   FOLDER/KEY/rows/HASH.rows   rows, as files of CacheFolder
//   FOLDER/KEY/HASH.manifest    names objects of rows, with their heads
//
// A reader reads the rows that manifests name, and no others. So rows are
// visible from the time at which a writer puts a manifest, which is the last
// object that it puts. A writer that is killed before leaves objects that no
// process reads. Each name is a hash of the contents, and is put only if no
// such object exists (FileSystem::WriteNew). So any number of writers may work
// at the same time, and objects are never changed.
//
// Objects may be deleted at any time. Rows are checked at every read, as in
// CacheFolder. An object of rows that fails is deleted.
//
// Thread-safety: any thread.
class CacheObjects final : public CacheStorage {
 public:
  static constexpr std::string_view kExtension = ".manifest";
  static constexpr size_t kFileBytes = size_t{32} << 20;
  // Write commits rows of this many bytes, or after this time.
  static constexpr uint64_t kCommitBytes = uint64_t{256} << 20;
  static constexpr std::chrono::seconds kCommitInterval{30};

  // `files` has the scheme of `folder`.
  CacheObjects(const FileSystem& files, const std::string& folder,
               const std::string& key, std::shared_ptr<const ElementSpec> spec);

  // Errors of the store are reported on stderr, and no segment is found.
  std::vector<CacheSegment> ReadNew() override;
  absl::StatusOr<std::vector<CacheSegment>> Write(
      const std::vector<CacheSegment>& segments) override;
  absl::Status Commit() override;
  bool Drop(CacheFile& file, const absl::Status& why) override;
  size_t file_bytes() const override { return kFileBytes; }
  bool is_remote() const override { return true; }

 private:
  absl::StatusOr<std::vector<CacheSegment>> ReadManifest(
      const std::string& name) const;
  absl::StatusOr<std::vector<CacheSegment>> SegmentsOf(
      const ListedCacheFile& listed) const;
  std::string NameOfRows(const std::string& name) const;

  const FileSystem& files_;
  const std::string key_;
  const std::shared_ptr<const ElementSpec> spec_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::set<std::string> read_;  // manifests, by name
  std::vector<ListedCacheFile> uncommitted_;
  std::chrono::steady_clock::time_point committed_ =
      std::chrono::steady_clock::now();
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CACHE_OBJECTS_H_
