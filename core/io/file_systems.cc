#include "core/io/file_systems.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/io/local_files.h"
#include "core/io/unchanged_file.h"

namespace feedmill {
namespace {

bool IsSchemeLetter(char c, bool first) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return !first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.');
}

size_t SchemeLength(std::string_view name) {
  size_t length = 0;
  while (length < name.size() && IsSchemeLetter(name[length], length == 0)) {
    ++length;
  }
  return length;
}

}  // namespace

std::string_view SchemeOf(std::string_view name) {
  const std::string_view scheme = name.substr(0, SchemeLength(name));
  return name.substr(scheme.size()).starts_with("://") ? scheme
                                                       : std::string_view();
}

FileSystems::FileSystems() {
  // LocalFileSystem() is never destroyed.
  by_scheme_.emplace("file", std::shared_ptr<const FileSystem>(
                                 std::shared_ptr<void>(), &LocalFileSystem()));
}

absl::Status FileSystems::Add(std::string scheme,
                              std::shared_ptr<const FileSystem> files) {
  if (scheme.empty() || SchemeLength(scheme) != scheme.size() ||
      std::any_of(scheme.begin(), scheme.end(),
                  [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return InvalidArgument(
        "'{}' cannot be a scheme: lower-case letters, digits, '+', '-' and "
        "'.', a letter first",
        scheme);
  }
  const std::lock_guard lock(mutex_);
  const auto [at, added] =
      by_scheme_.emplace(std::move(scheme), std::move(files));
  if (added) return absl::OkStatus();
  return InvalidArgument("the scheme '{}' has a file system already",
                         at->first);
}

void FileSystems::WrapStores(const Wrap& wrap) {
  const std::lock_guard lock(mutex_);
  std::map<std::shared_ptr<const FileSystem>,
           std::shared_ptr<const FileSystem>>
      wrapped;  // one may have several schemes
  for (auto& [scheme, files] : by_scheme_) {
    if (scheme == "file") continue;
    auto& whole = wrapped[files];
    if (whole == nullptr) whole = wrap(files);
    files = whole;
  }
}

absl::StatusOr<const FileSystem*> FileSystems::Find(
    std::string_view name) const {
  const std::string_view scheme = SchemeOf(name);
  if (scheme.empty()) return &LocalFileSystem();
  const std::lock_guard lock(mutex_);
  const auto found = by_scheme_.find(scheme);
  if (found != by_scheme_.end()) return found->second.get();
  std::vector<std::string_view> known;
  for (const auto& [own, files] : by_scheme_) known.push_back(own);
  return InvalidArgument(
      "{}: this program has no file system for {}://; it has paths and {}://{}",
      ShownName(name), scheme, fmt::join(known, "://, "),
      known.size() == 1 ? "; AddStores() of feedmill/dataset.h adds stores"
                        : "");
}

FileSystems& ProcessFileSystems() {
  static FileSystems& all = *new FileSystems;
  return all;
}

absl::StatusOr<const FileSystem*> FileSystemOf(std::string_view name) {
  return ProcessFileSystems().Find(name);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(
    const std::string& name) {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(name));
  FM_ASSIGN_OR_RETURN(auto file, files->Open(name));
  return RequireUnchanged(std::move(file));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(
    const FoundFile& found) {
  if (!found.identity) return OpenFile(found.name);
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(found.name));
  FM_ASSIGN_OR_RETURN(auto file, files->OpenKnown(found.name, *found.identity));
  return RequireUnchanged(std::move(file));
}

absl::StatusOr<std::string> ReadFile(const std::string& name,
                                     uint64_t bytes_max) {
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(name));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  if (identity.size > bytes_max) {
    return InvalidArgument("{}: it has {} bytes, and at most {} are read", name,
                           identity.size, bytes_max);
  }
  std::string bytes(identity.size, '\0');
  const std::span<char> into(bytes);
  FM_ASSIGN_OR_RETURN(const size_t read,
                      file->Read(0, std::as_writable_bytes(into)));
  bytes.resize(read);
  return bytes;
}

}  // namespace feedmill
