#ifndef FEEDMILL_CORE_IO_FORWARDING_FILES_H_
#define FEEDMILL_CORE_IO_FORWARDING_FILES_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace feedmill {

// A file system that passes each call to another one. Derived classes override
// the calls that they change.
class ForwardingFiles : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const override;
  absl::StatusOr<FileStat> Stat(const std::string& name) const override;
  std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const override;
  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override;
  absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const override;
  std::vector<absl::StatusOr<std::vector<FoundFile>>> GlobAll(
      std::span<const std::string> patterns) const override;
  absl::StatusOr<std::string> FindOne(
      const std::string& pattern) const override;
  absl::Status Write(const std::string& name,
                     std::string_view bytes) const override;
  absl::StatusOr<bool> WriteNew(const std::string& name,
                                std::string_view bytes) const override;
  absl::Status Remove(const std::string& name) const override;
  absl::Status RemoveFolder(const std::string& folder) const override;

 private:
  // Returns the other file system. An error, with the name, fails the call.
  virtual absl::StatusOr<const FileSystem*> Target(
      const std::string& name) const = 0;
};

// A file system that is created at its first use, such as a plugin's. If
// the creation fails, every call returns that error with the file's name.
class DeferredFiles final : public ForwardingFiles {
 public:
  using Make =
      std::function<absl::StatusOr<std::unique_ptr<const FileSystem>>()>;

  explicit DeferredFiles(Make make) : make_(std::move(make)) {}

 private:
  absl::StatusOr<const FileSystem*> Target(
      const std::string& name) const override;

  const Make make_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. Never changed after it is set.
  mutable std::optional<absl::StatusOr<std::unique_ptr<const FileSystem>>>
      made_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FORWARDING_FILES_H_
