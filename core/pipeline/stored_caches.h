#ifndef FEEDMILL_CORE_PIPELINE_STORED_CACHES_H_
#define FEEDMILL_CORE_PIPELINE_STORED_CACHES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// One cache on disk or in a store: the folder of its key (CacheFolder,
// CacheObjects).
struct StoredCache {
  std::filesystem::path path;  // or URL
  // URLs of the objects, if the cache is in a store.
  std::vector<std::string> objects{};
  uint64_t files = 0;  // number of complete files
  // Bytes of complete files, of files being written, and of abandoned files.
  uint64_t bytes = 0;
  // Number and bytes of files that killed writers left (folder_file.h).
  uint64_t abandoned = 0;
  uint64_t abandoned_bytes = 0;
  // Time when a process last opened the cache or wrote into it. In a store,
  // only writing counts, because a store does not say when objects were read.
  std::filesystem::file_time_type used;
};

// Returns the caches in a folder that `cache:` steps name, the longest unused
// first. Other contents of the folder are ignored. `folder` may be a URL; a
// folder of a store that does not exist has no caches. Unavailable if the
// folder cannot be read.
absl::StatusOr<std::vector<StoredCache>> FindCaches(const std::string& folder);

// Deletes the files that killed writers left in the cache, and updates `cache`.
void DropAbandoned(StoredCache& cache);

// Deletes the cache's files, except files being written. Processes that read
// the cache continue with the rows they have. Unavailable if a file cannot be
// deleted.
absl::Status DropCache(const StoredCache& cache);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STORED_CACHES_H_
