#ifndef FEEDMILL_CORE_PIPELINE_KEPT_CACHES_H_
#define FEEDMILL_CORE_PIPELINE_KEPT_CACHES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// What one cache has on disk: the folder of its key (CacheFolder).
struct KeptCache {
  std::filesystem::path path;
  uint64_t files = 0;  // that are whole
  // Bytes of whole files, of files being written, and of abandoned files.
  uint64_t bytes = 0;
  // Number of files that killed writers left (folder_file.h), and their bytes.
  uint64_t abandoned = 0;
  uint64_t abandoned_bytes = 0;
  // When a process last opened it, or wrote into it.
  std::filesystem::file_time_type used;
};

// The caches in a folder that `cache:` steps name, that of the longest unused
// first; what else is in it is none of them. Unavailable if it cannot be read.
absl::StatusOr<std::vector<KeptCache>> FindKeptCaches(
    const std::string& folder);

// Deletes the files that killed writers left in the cache; updates `cache`.
void DropAbandoned(KeptCache& cache);

// Deletes its files, but those that are being written; those who read them go
// on with what they have. Unavailable if one cannot be deleted.
absl::Status DropKeptCache(const KeptCache& cache);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_KEPT_CACHES_H_
