#include "core/pipeline/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/status.h"
#include "core/io/folder_file.h"
#include "core/io/local_files.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

// True if the path still names the opened file. A process that found the damage
// earlier may have deleted the file and written it again.
bool IsAtItsPath(CacheFile& file) {
  const auto opened = file.Open();
  if (!opened.ok()) return false;
  const auto own = (*opened)->Identity();
  const auto now = LocalFileSystem().Stat(file.path());
  return own.ok() && now.ok() && *own == now->identity;
}

}  // namespace

CacheFolder::CacheFolder(const std::string& path, const std::string& key,
                         std::shared_ptr<const ElementSpec> spec)
    : CacheStorage(fmt::format("{}/{}", path, key)),
      key_(key),
      spec_(std::move(spec)) {}

absl::StatusOr<std::vector<CacheSegment>> CacheFolder::ReadFile(
    const std::string& name) const {
  const auto file = std::make_shared<CacheFile>(path() + "/" + name);
  // The file is closed again: a folder may have more files than a process may
  // open.
  FM_ASSIGN_OR_RETURN(const auto opened, LocalFileSystem().Open(file->path()));
  return ReadCacheFile(*opened, key_, file, spec_);
}

std::vector<CacheSegment> CacheFolder::ReadNew() {
  // Another process may have replaced damaged files that are open here.
  CacheFile::CloseAll(path());
  const std::lock_guard lock(mutex_);
  std::vector<CacheSegment> all;
  utimensat(AT_FDCWD, path().c_str(), nullptr, 0);  // if it exists
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(path(), error), end; !error && at != end;
       at.increment(error)) {
    DropUnfinished(*at);
    if (at->path().extension() == kExtension) {
      names.push_back(at->path().filename());
    }
  }
  for (const std::string& name : names) {
    if (!read_.insert(name).second) continue;
    auto segments = ReadFile(name);
    if (segments.ok()) {
      for (CacheSegment& segment : *segments) all.push_back(std::move(segment));
      continue;
    }
    read_.erase(name);
    if (absl::IsNotFound(segments.status())) continue;  // deleted meanwhile
    const std::string file = path() + "/" + name;
    if (absl::IsDataLoss(segments.status())) {
      Delete(file, segments.status());
    } else {
      Warn(file, ErrorText(segments.status()));
    }
  }
  return all;
}

absl::StatusOr<std::vector<CacheSegment>> CacheFolder::Write(
    const std::vector<CacheSegment>& segments) {
  const CacheFileText text = CacheFileTextOf(key_, segments);
  const std::string name = NameOfContents(text.whole, kExtension);
  const absl::Status written = WriteIntoFolder(path(), name, text.whole);
  if (!written.ok()) {
    return Unavailable("cannot write a cache in '{}': {}", path(),
                       ErrorText(written));
  }
  {
    const std::lock_guard lock(mutex_);
    read_.insert(name);
  }
  return ReadCacheHead(text.head, text.whole.size(),
                       std::make_shared<CacheFile>(path() + "/" + name), spec_);
}

bool CacheFolder::Drop(CacheFile& file, const absl::Status& why) {
  if (!file.Drop()) return false;
  if (!absl::IsNotFound(why)) {
    if (IsAtItsPath(file)) {
      Delete(file.path(), why);
    } else {
      Warn(file.path(), ErrorText(why) + "; another one replaces it");
    }
  }
  const std::lock_guard lock(mutex_);
  // Another process may write a file of that name again; ReadNew then reads it.
  read_.erase(fs::path(file.path()).filename());
  return true;
}

// Deletes the file, because every later process would find and report the
// damage again.
void CacheFolder::Delete(const std::string& file, const absl::Status& why) {
  std::error_code error;
  fs::remove(file, error);
  Warn(file, error ? fmt::format("{}; it cannot be deleted: {}", ErrorText(why),
                                 error.message())
                   : ErrorText(why) + "; it is deleted");
}

}  // namespace feedmill
