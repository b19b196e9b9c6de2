#include "core/io/forwarding_files.h"

#include "core/base/status.h"

namespace feedmill {

absl::StatusOr<std::unique_ptr<RandomAccessFile>> ForwardingFiles::Open(
    const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(name));
  return files->Open(name);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> ForwardingFiles::OpenKnown(
    const std::string& name, const FileIdentity& known) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(name));
  return files->OpenKnown(name, known);
}

absl::StatusOr<FileStat> ForwardingFiles::Stat(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(name));
  return files->Stat(name);
}

std::vector<absl::StatusOr<FileStat>> ForwardingFiles::StatAll(
    std::span<const std::string> names) const {
  if (names.empty()) return {};
  const auto files = Target(names.front());
  if (files.ok()) return (*files)->StatAll(names);
  return {names.size(), absl::StatusOr<FileStat>(files.status())};
}

absl::StatusOr<std::vector<FileSystem::Entry>> ForwardingFiles::List(
    const std::string& folder) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(folder));
  return files->List(folder);
}

absl::StatusOr<std::vector<FoundFile>> ForwardingFiles::Glob(
    const std::string& pattern) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(pattern));
  return files->Glob(pattern);
}

std::vector<absl::StatusOr<std::vector<FoundFile>>> ForwardingFiles::GlobAll(
    std::span<const std::string> patterns) const {
  if (patterns.empty()) return {};
  const auto files = Target(patterns.front());
  if (files.ok()) return (*files)->GlobAll(patterns);
  return {patterns.size(),
          absl::StatusOr<std::vector<FoundFile>>(files.status())};
}

absl::StatusOr<std::string> ForwardingFiles::FindOne(
    const std::string& pattern) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(pattern));
  return files->FindOne(pattern);
}

absl::Status ForwardingFiles::Write(const std::string& name,
                                    std::string_view bytes) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(name));
  return files->Write(name, bytes);
}

absl::StatusOr<bool> ForwardingFiles::WriteNew(const std::string& name,
                                               std::string_view bytes) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(name));
  return files->WriteNew(name, bytes);
}

absl::Status ForwardingFiles::Remove(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(name));
  return files->Remove(name);
}

absl::Status ForwardingFiles::RemoveFolder(const std::string& folder) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, Target(folder));
  return files->RemoveFolder(folder);
}

absl::StatusOr<const FileSystem*> DeferredFiles::Target(
    const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (!made_) made_ = make_();
  if (!made_->ok()) return Annotate(made_->status(), name);
  return (*made_)->get();
}

}  // namespace feedmill
