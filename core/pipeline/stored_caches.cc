#include "core/pipeline/stored_caches.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/file_systems.h"
#include "core/io/folder_file.h"
#include "core/io/side_by_side.h"
#include "core/io/url_options.h"
#include "core/pipeline/cache_folder.h"
#include "core/pipeline/cache_objects.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

bool IsKey(std::string_view name) {
  return name.size() == kCacheKeyBytes &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void SortByUse(std::vector<StoredCache>& caches) {
  std::sort(caches.begin(), caches.end(),
            [](const StoredCache& a, const StoredCache& b) {
              return std::tie(a.used, a.path) < std::tie(b.used, b.path);
            });
}

fs::file_time_type FileTimeOf(int64_t ns_since_1970) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{
      std::chrono::nanoseconds(ns_since_1970)};
  return std::chrono::time_point_cast<fs::file_time_type::duration>(
      std::chrono::file_clock::from_sys(time));
}

// Lists all objects below the folder and groups them by key.
absl::StatusOr<std::vector<StoredCache>> FindStoredCaches(
    const std::string& url) {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(url));
  const std::string options = url.substr(FindUrlOptions(url));
  std::string folder = url.substr(0, url.size() - options.size());
  while (folder.ends_with('/')) folder.pop_back();
  FM_ASSIGN_OR_RETURN(const std::vector<FoundFile> objects,
                      files->Glob(EscapedPattern(folder) + "/**" + options));
  std::map<std::string, StoredCache> by_key;
  for (const FoundFile& object : objects) {
    const size_t begin = folder.size() + 1;
    if (object.name.size() < begin) continue;
    const size_t slash = object.name.find('/', begin);
    if (slash == std::string::npos) continue;
    const std::string key = object.name.substr(begin, slash - begin);
    if (!IsKey(key)) continue;
    const auto [at, is_new] = by_key.try_emplace(key);
    StoredCache& cache = at->second;
    if (is_new) cache.used = fs::file_time_type::min();
    cache.path = object.name.substr(0, slash) + options;
    ++cache.files;
    cache.bytes += object.identity ? object.identity->size : 0;
    cache.used = std::max(cache.used, FileTimeOf(object.written_ns));
    cache.objects.push_back(object.name);
  }
  std::vector<StoredCache> found;
  for (auto& [key, cache] : by_key) found.push_back(std::move(cache));
  SortByUse(found);
  return found;
}

// Manifests go first, so that no process finds rows that are deleted next.
absl::Status DropStoredCache(const StoredCache& cache) {
  constexpr size_t kTogether = 16;
  FM_ASSIGN_OR_RETURN(const FileSystem* const files,
                      FileSystemOf(cache.path.string()));
  std::vector<std::string> manifests;
  for (const std::string& name : cache.objects) {
    const std::string_view key =
        std::string_view(name).substr(0, FindUrlOptions(name));
    if (key.ends_with(CacheObjects::kExtension)) manifests.push_back(name);
  }
  FM_RETURN_IF_ERROR(
      ForEachSideBySide(manifests.size(), kTogether,
                        [&](size_t k) { return files->Remove(manifests[k]); }));
  return files->RemoveFolder(cache.path.string());
}

// Counts the files of a cache's folder. Other files are ignored, also files
// that are deleted meanwhile.
void CountFiles(StoredCache& cache) {
  std::error_code error;
  for (fs::directory_iterator file(cache.path, error), end;
       !error && file != end; file.increment(error)) {
    const Unfinished state = StateOf(*file);
    const bool whole = file->path().extension() == CacheFolder::kExtension;
    std::error_code gone;
    const auto bytes = file->file_size(gone);
    if (gone || (!whole && state == Unfinished::kNone)) continue;
    cache.files += whole ? 1 : 0;
    cache.bytes += bytes;
    if (state == Unfinished::kAbandoned) {
      ++cache.abandoned;
      cache.abandoned_bytes += bytes;
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<StoredCache>> FindCaches(const std::string& folder) {
  if (!SchemeOf(folder).empty()) return FindStoredCaches(folder);
  std::vector<StoredCache> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (!at->is_directory(gone) || !IsKey(at->path().filename().string())) {
      continue;
    }
    StoredCache cache;
    cache.path = at->path();
    cache.used = at->last_write_time(gone);
    if (gone) continue;
    CountFiles(cache);
    found.push_back(std::move(cache));
  }
  if (error) return Unavailable("{}: {}", folder, error.message());
  SortByUse(found);
  return found;
}

void DropAbandoned(StoredCache& cache) {
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

absl::Status DropCache(const StoredCache& cache) {
  if (!cache.objects.empty()) return DropStoredCache(cache);
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
