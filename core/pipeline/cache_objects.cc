#include "core/pipeline/cache_objects.h"

#include <utility>

#include "core/base/status.h"
#include "core/io/file_systems.h"
#include "core/io/side_by_side.h"

namespace feedmill {
namespace {

constexpr size_t kManifestsTogether = 32;
constexpr uint64_t kManifestBytesMax = uint64_t{1} << 30;
constexpr std::string_view kRowsFolder = "rows";

}  // namespace

CacheObjects::CacheObjects(const FileSystem& files, const std::string& folder,
                           const std::string& key,
                           std::shared_ptr<const ElementSpec> spec)
    : CacheStorage(files.NameIn(folder, key)),
      files_(files),
      key_(key),
      spec_(std::move(spec)) {}

std::string CacheObjects::NameOfRows(const std::string& name) const {
  return files_.NameIn(files_.NameIn(path(), kRowsFolder), name);
}

absl::StatusOr<std::vector<CacheSegment>> CacheObjects::SegmentsOf(
    const ListedCacheFile& listed) const {
  if (listed.name.find('/') != std::string::npos) {
    return DataLoss("it names '{}'", listed.name);
  }
  return ReadCacheHead(listed.head, listed.size,
                       std::make_shared<CacheFile>(NameOfRows(listed.name),
                                                   FileIdentity{listed.size}),
                       spec_);
}

absl::StatusOr<std::vector<CacheSegment>> CacheObjects::ReadManifest(
    const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(files_.NameIn(path(), name), kManifestBytesMax));
  FM_ASSIGN_OR_RETURN(const std::vector<ListedCacheFile> listed,
                      ParseCacheManifest(text, key_));
  std::vector<CacheSegment> all;
  for (const ListedCacheFile& file : listed) {
    FM_ASSIGN_OR_RETURN(std::vector<CacheSegment> segments, SegmentsOf(file));
    for (CacheSegment& segment : segments) all.push_back(std::move(segment));
  }
  return all;
}

std::vector<CacheSegment> CacheObjects::ReadNew() {
  const auto entries = files_.List(path());
  if (!entries.ok()) {
    if (!absl::IsNotFound(entries.status())) {
      Warn(path(), ErrorText(entries.status()));
    }
    return {};
  }
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const FileSystem::Entry& entry : *entries) {
      if (entry.directory || !entry.name.ends_with(kExtension)) continue;
      // Objects of some stores are empty until their writer has filled them.
      if (entry.identity && entry.identity->size == 0) continue;
      if (read_.insert(entry.name).second) names.push_back(entry.name);
    }
  }
  std::vector<absl::StatusOr<std::vector<CacheSegment>>> read(
      names.size(), absl::StatusOr<std::vector<CacheSegment>>(
                        absl::CancelledError("it was not read")));
  ForEachSideBySide(names.size(), kManifestsTogether, [&](size_t k) {
    read[k] = ReadManifest(names[k]);
    return absl::OkStatus();
  }).IgnoreError();
  std::vector<CacheSegment> all;
  for (size_t k = 0; k < names.size(); ++k) {
    if (read[k].ok()) {
      for (CacheSegment& segment : *read[k]) all.push_back(std::move(segment));
      continue;
    }
    // A manifest that cannot be read now is tried again by the next call.
    if (!absl::IsDataLoss(read[k].status())) {
      const std::lock_guard lock(mutex_);
      read_.erase(names[k]);
    }
    if (absl::IsNotFound(read[k].status())) continue;  // deleted meanwhile
    Warn(files_.NameIn(path(), names[k]), ErrorText(read[k].status()));
  }
  return all;
}

absl::StatusOr<std::vector<CacheSegment>> CacheObjects::Write(
    const std::vector<CacheSegment>& segments) {
  const CacheFileText text = CacheFileTextOf(key_, segments);
  ListedCacheFile listed{NameOfContents(text.whole, ".rows"), text.whole.size(),
                         text.head};
  FM_RETURN_IF_ERROR(
      files_.WriteNew(NameOfRows(listed.name), text.whole).status());
  FM_ASSIGN_OR_RETURN(std::vector<CacheSegment> stored, SegmentsOf(listed));
  bool due = false;
  {
    const std::lock_guard lock(mutex_);
    uncommitted_.push_back(std::move(listed));
    uint64_t bytes = 0;
    for (const ListedCacheFile& file : uncommitted_) bytes += file.size;
    due = bytes >= kCommitBytes ||
          std::chrono::steady_clock::now() - committed_ >= kCommitInterval;
  }
  if (due) FM_RETURN_IF_ERROR(Commit());
  return stored;
}

absl::Status CacheObjects::Commit() {
  std::vector<ListedCacheFile> files;
  {
    const std::lock_guard lock(mutex_);
    files.swap(uncommitted_);
    committed_ = std::chrono::steady_clock::now();
  }
  if (files.empty()) return absl::OkStatus();
  const std::string text = CacheManifestText(key_, files);
  const std::string name = NameOfContents(text, kExtension);
  const absl::Status put =
      files_.WriteNew(files_.NameIn(path(), name), text).status();
  const std::lock_guard lock(mutex_);
  if (put.ok()) {
    read_.insert(name);
  } else {  // the next call tries again
    uncommitted_.insert(uncommitted_.begin(), files.begin(), files.end());
  }
  return put;
}

bool CacheObjects::Drop(CacheFile& file, const absl::Status& why) {
  if (!file.Drop()) return false;
  if (absl::IsNotFound(why)) return true;
  const absl::Status removed = files_.Remove(file.path());
  Warn(file.path(), removed.ok()
                        ? ErrorText(why) + "; it is deleted"
                        : fmt::format("{}; it cannot be deleted: {}",
                                      ErrorText(why), ErrorText(removed)));
  return true;
}

}  // namespace feedmill
