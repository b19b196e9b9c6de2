#include "core/pipeline/kept_caches.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <tuple>

#include "core/base/status.h"
#include "core/io/folder_file.h"
#include "core/pipeline/cache_folder.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

bool IsKey(std::string_view name) {
  return name.size() == kCacheKeyBytes &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::vector<KeptCache>> FindKeptCaches(
    const std::string& folder) {
  std::vector<KeptCache> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (!at->is_directory(gone) || !IsKey(at->path().filename().string())) {
      continue;
    }
    KeptCache cache;
    cache.path = at->path();
    cache.used = at->last_write_time(gone);
    if (gone) continue;
    for (fs::directory_iterator file(cache.path, gone);
         !gone && file != fs::directory_iterator(); file.increment(gone)) {
      const Unfinished state = StateOf(*file);
      const bool whole = file->path().extension() == CacheFolder::kExtension;
      std::error_code away;
      const auto bytes = file->file_size(away);
      if (away || (!whole && state == Unfinished::kNone)) continue;
      cache.files += whole ? 1 : 0;
      cache.bytes += bytes;
      if (state == Unfinished::kAbandoned) {
        ++cache.abandoned;
        cache.abandoned_bytes += bytes;
      }
    }
    found.push_back(std::move(cache));
  }
  if (error) return Unavailable("{}: {}", folder, error.message());
  std::sort(found.begin(), found.end(),
            [](const KeptCache& a, const KeptCache& b) {
              return std::tie(a.used, a.path) < std::tie(b.used, b.path);
            });
  return found;
}

void DropAbandoned(KeptCache& cache) {
  if (cache.abandoned == 0) return;
  std::error_code error;
  for (fs::directory_iterator at(cache.path, error), end; !error && at != end;
       at.increment(error)) {
    DropUnfinished(*at);
  }
  // Restores the time of last use, which deleting files has changed.
  fs::last_write_time(cache.path, cache.used, error);
  cache.bytes -= cache.abandoned_bytes;
  cache.abandoned = cache.abandoned_bytes = 0;
}

absl::Status DropKeptCache(const KeptCache& cache) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator at(cache.path, error), end; !error && at != end;
       at.increment(error)) {
    if (StateOf(*at) == Unfinished::kAbandoned ||
        at->path().extension() == CacheFolder::kExtension) {
      files.push_back(at->path());
    }
  }
  for (const fs::path& file : files) {
    if (error) break;
    fs::remove(file, error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return Unavailable("{}: {}", cache.path.string(), error.message());
  }
  fs::remove(cache.path, error);  // fails if a process still writes into it
  return absl::OkStatus();
}

}  // namespace feedmill
