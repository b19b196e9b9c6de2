#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "broker/element_sizes.h"
#include "core/base/status.h"
#include "core/pipeline/stored_caches.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"

namespace feedmill {
namespace {

constexpr char kCacheSummary[] =
    "Lists the caches of `cache: FOLDER` steps in folders, the longest unused\n"
    "first; with --unused-days or --max-size, deletes some of them. Nothing "
    "else\n"
    "deletes whole caches. A folder may be one of a store (s3://, gs://, "
    "az://).";
constexpr char kCacheExamples[] =
    "A folder has a cache for each pipeline (up to its cache step), data and\n"
    "seed. When data or steps change, their old cache is no longer used. A "
    "process\n"
    "uses a cache when it opens it or writes to it. Caches may be deleted "
    "while they\n"
    "are read: rows that were not read yet are made again. Sizes include "
    "files that\n"
    "are being written, and unfinished files of writers that were killed. "
    "Unfinished\n"
    "files are deleted with --unused-days or --max-size, regardless of their "
    "values,\n"
    "and when a pipeline opens the cache.\n"
    "A store does not say when objects were read: a cache there counts as "
    "unused\n"
    "since a process last wrote to it.\n"
    "\n"
    "Examples:\n"
    "  feedmill cache kept/\n"
    "  feedmill cache kept/ --unused-days 30 --dry-run\n"
    "  feedmill cache kept/ --max-size 200GiB\n"
    "  feedmill cache s3://scratch/kept --unused-days 30";

struct CacheFlags {
  std::vector<std::string> folders;
  uint64_t unused_days = 0;
  uint64_t max_size = 0;
  bool dry_run = false;
  std::string format = "text";

  void Declare(FlagSet& flags) {
    flags.Count(
        "--unused-days", 0, 36500,
        "Delete caches that were not used for this number of days; 0: all",
        &unused_days);
    flags.Bytes("--max-size",
                "Delete the caches that are longest unused until all folders "
                "together hold this size",
                &max_size);
    flags.Bool("--dry-run",
               "Print the caches that would be deleted, and delete nothing",
               &dry_run);
    flags.OneOf("--format", {"text", "json"}, "Format of the list", &format);
    flags.Positionals(
        "FOLDER", "Folders or URLs that pipelines name in `cache`", &folders);
  }
};

absl::Time TimeOf(const StoredCache& cache) {
  return absl::FromChrono(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(
          std::chrono::file_clock::to_sys(cache.used)));
}

void Print(const StoredCache& cache, const char* abandoned_deleted,
           const char* deleted, bool json) {
  if (json) {
    fmt::print(
        "{}\n",
        nlohmann::json({{"cache", cache.path.string()},
                        {"files", cache.files},
                        {"bytes", cache.bytes},
                        {"abandoned_files", cache.abandoned},
                        {"abandoned_bytes", cache.abandoned_bytes},
                        {"used", absl::FormatTime(TimeOf(cache))},
                        {"deleted", *deleted != '\0'}})
            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  std::string abandoned;
  if (cache.abandoned > 0) {
    abandoned = fmt::format(" ({} in {} that killed writers left{})",
                            SizeText(cache.abandoned_bytes), cache.abandoned,
                            abandoned_deleted);
  }
  fmt::print(
      "{}  {} in {} file{}{}, {} {}{}\n", cache.path.string(),
      SizeText(cache.bytes), cache.files, cache.files == 1 ? "" : "s",
      abandoned, cache.objects.empty() ? "used" : "written",
      absl::FormatTime("%Y-%m-%d %H:%M", TimeOf(cache), absl::LocalTimeZone()),
      deleted);
}

}  // namespace

absl::StatusOr<int> RunCache(const Invocation& invocation) {
  CacheFlags cache;
  FlagSet flags("cache", kCacheSummary, kCacheExamples);
  cache.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (cache.folders.empty()) return flags.Error("a folder is missing");
  const bool by_age = flags.Given("--unused-days");
  const bool deletes = by_age || cache.max_size > 0;
  if (cache.dry_run && !deletes) {
    return flags.Error("--dry-run is for --unused-days or --max-size");
  }
  std::vector<StoredCache> found;
  uint64_t bytes = 0;
  for (const std::string& folder : cache.folders) {
    FM_ASSIGN_OR_RETURN(const auto in_it, FindCaches(folder));
    for (const StoredCache& one : in_it) {
      bytes += one.bytes - (deletes ? one.abandoned_bytes : 0);
    }
    found.insert(found.end(), in_it.begin(), in_it.end());
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const StoredCache& a, const StoredCache& b) {
                     return a.used < b.used;
                   });
  const absl::Time since =
      absl::Now() - absl::Hours(24) * static_cast<int64_t>(cache.unused_days);
  const char* const word = cache.dry_run ? "; to be deleted" : "; deleted";
  size_t left = found.size();
  for (StoredCache& one : found) {
    const StoredCache listed = one;
    if (deletes && !cache.dry_run) DropAbandoned(one);
    const bool goes = (by_age && TimeOf(one) <= since) ||
                      (cache.max_size > 0 && bytes > cache.max_size);
    if (goes) {
      if (!cache.dry_run) FM_RETURN_IF_ERROR(DropCache(one));
      bytes -= listed.bytes - listed.abandoned_bytes;
      --left;
    }
    Print(listed, deletes ? word : "", goes ? word : "",
          cache.format == "json");
  }
  if (cache.format != "json") {
    fmt::print("{} cache{}, {}\n", left, left == 1 ? "" : "s", SizeText(bytes));
  }
  return kExitSuccess;
}

}  // namespace feedmill
