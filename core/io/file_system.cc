#include "core/io/file_system.h"

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "core/io/side_by_side.h"
#include "core/io/url_options.h"

namespace feedmill {

absl::StatusOr<std::unique_ptr<RandomAccessFile>> FileSystem::OpenKnown(
    const std::string& name, const FileIdentity& /*known*/) const {
  return Open(name);
}

std::vector<absl::StatusOr<FileStat>> FileSystem::StatAll(
    std::span<const std::string> names) const {
  std::vector<absl::StatusOr<FileStat>> stats;
  stats.reserve(names.size());
  for (const std::string& name : names) stats.push_back(Stat(name));
  return stats;
}

absl::StatusOr<std::vector<FoundFile>> FileSystem::Glob(
    const std::string& pattern) const {
  return GlobByListing(*this, pattern);
}

std::vector<absl::StatusOr<std::vector<FoundFile>>> FileSystem::GlobAll(
    std::span<const std::string> patterns) const {
  std::vector<absl::StatusOr<std::vector<FoundFile>>> found;
  found.reserve(patterns.size());
  for (const std::string& pattern : patterns) found.push_back(Glob(pattern));
  return found;
}

absl::StatusOr<std::string> FileSystem::FindOne(
    const std::string& pattern) const {
  return NotFound("{}: no file is found without a listing of all", pattern);
}

absl::Status FileSystem::Write(const std::string& name,
                               std::string_view /*bytes*/) const {
  return InvalidArgument(
      "{}: files of this kind are only read; name a path, or an object of "
      "s3://, gs:// or az://",
      name);
}

absl::StatusOr<bool> FileSystem::WriteNew(const std::string& name,
                                          std::string_view bytes) const {
  FM_RETURN_IF_ERROR(Write(name, bytes));
  return true;
}

absl::Status FileSystem::Remove(const std::string& name) const {
  return InvalidArgument("{}: files of this kind are only read", name);
}

absl::Status FileSystem::RemoveFolder(const std::string& folder) const {
  constexpr size_t kTogether = 16;
  const std::string options = folder.substr(FindUrlOptions(folder));
  std::string below = folder.substr(0, folder.size() - options.size());
  while (below.ends_with('/')) below.pop_back();
  FM_ASSIGN_OR_RETURN(const std::vector<FoundFile> files,
                      Glob(EscapedPattern(below) + "/**" + options));
  return ForEachSideBySide(files.size(), kTogether,
                           [&](size_t k) { return Remove(files[k].name); });
}

std::string FileSystem::NameIn(const std::string& folder,
                               std::string_view name) const {
  const size_t options =
      SchemeOf(folder).empty() ? folder.size() : FindUrlOptions(folder);
  const auto place = std::string_view(folder).substr(0, options);
  return fmt::format("{}{}{}{}", place, place.ends_with('/') ? "" : "/", name,
                     folder.substr(options));
}

}  // namespace feedmill
