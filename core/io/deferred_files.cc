#include "core/io/deferred_files.h"

#include "core/base/status.h"

namespace feedmill {

absl::StatusOr<const FileSystem*> DeferredFiles::Made(
    const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (!made_) made_ = make_();
  if (!made_->ok()) return Annotate(made_->status(), name);
  return (*made_)->get();
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> DeferredFiles::Open(
    const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(name));
  return files->Open(name);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> DeferredFiles::OpenKnown(
    const std::string& name, const FileIdentity& known) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(name));
  return files->OpenKnown(name, known);
}

absl::StatusOr<FileStat> DeferredFiles::Stat(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(name));
  return files->Stat(name);
}

std::vector<absl::StatusOr<FileStat>> DeferredFiles::StatAll(
    std::span<const std::string> names) const {
  if (names.empty()) return {};
  const auto files = Made(names.front());
  if (files.ok()) return (*files)->StatAll(names);
  return {names.size(), absl::StatusOr<FileStat>(files.status())};
}

absl::StatusOr<std::vector<FileSystem::Entry>> DeferredFiles::List(
    const std::string& folder) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(folder));
  return files->List(folder);
}

absl::StatusOr<std::vector<FoundFile>> DeferredFiles::Glob(
    const std::string& pattern) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(pattern));
  return files->Glob(pattern);
}

std::vector<absl::StatusOr<std::vector<FoundFile>>> DeferredFiles::GlobAll(
    std::span<const std::string> patterns) const {
  if (patterns.empty()) return {};
  const auto files = Made(patterns.front());
  if (files.ok()) return (*files)->GlobAll(patterns);
  return {patterns.size(),
          absl::StatusOr<std::vector<FoundFile>>(files.status())};
}

absl::StatusOr<std::string> DeferredFiles::FindOne(
    const std::string& pattern) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(pattern));
  return files->FindOne(pattern);
}

absl::Status DeferredFiles::Write(const std::string& name,
                                  std::string_view bytes) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(name));
  return files->Write(name, bytes);
}

absl::StatusOr<bool> DeferredFiles::WriteNew(const std::string& name,
                                             std::string_view bytes) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(name));
  return files->WriteNew(name, bytes);
}

absl::Status DeferredFiles::Remove(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(name));
  return files->Remove(name);
}

absl::Status DeferredFiles::RemoveFolder(const std::string& folder) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Made(folder));
  return files->RemoveFolder(folder);
}

std::string DeferredFiles::NameIn(const std::string& folder,
                                  std::string_view name) const {
  const auto files = Made(folder);
  return files.ok() ? (*files)->NameIn(folder, name)
                    : FileSystem::NameIn(folder, name);
}

}  // namespace feedmill
