#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_FETCHES_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_FETCHES_H_

#include <arrow/buffer.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/cloud_files.h"
#include "core/io/file_identity.h"
#include "core/io/random_access_file.h"

namespace feedmill {

// An Arrow file system, shared by all its open files.
struct CloudStore {
  std::shared_ptr<arrow::fs::FileSystem> files;
  CloudSettings settings{};
  // True if an open file reads one version only. Otherwise the version is
  // checked after each fetch.
  bool pins_versions = false;
};

// Size and modification time, from Arrow.
FileIdentity IdentityOfInfo(const arrow::fs::FileInfo& info);

// Converts the status of an Arrow call for the file `name`.
absl::Status CloudError(const std::string& name, const arrow::Status& status);

// A range being fetched by a thread of the pool. Readers wait for it. Any
// thread.
class Fetch {
 public:
  void Finish(absl::StatusOr<std::shared_ptr<arrow::Buffer>> result);
  // Cancelled soon after settings.stop_asked. Unavailable if nothing arrives
  // within the patience plus the margin of Arrow's clients.
  absl::StatusOr<std::shared_ptr<arrow::Buffer>> Wait(
      const std::string& name, const CloudSettings& settings) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_.
  bool finished_ = false;
  absl::StatusOr<std::shared_ptr<arrow::Buffer>> result_{
      absl::UnknownError("")};
};

// One version of an object, opened by its first fetch. Shared by its fetches,
// which may outlive the file.
class CloudObject : public std::enable_shared_from_this<CloudObject> {
 public:
  CloudObject(std::string name, std::string path, FileIdentity identity,
              std::shared_ptr<const CloudStore> store);

  const std::string& name() const { return name_; }
  const FileIdentity& identity() const { return identity_; }
  const CloudSettings& settings() const { return store_->settings; }

  // Starts to fetch a range on a thread of the pool.
  std::shared_ptr<Fetch> Begin(const ByteRange& range);

 private:
  absl::StatusOr<std::shared_ptr<arrow::io::RandomAccessFile>> Opened();
  absl::StatusOr<std::shared_ptr<arrow::Buffer>> FetchNow(
      const ByteRange& range);
  absl::Status CheckVersion();

  const std::string name_;
  const std::string path_;
  const FileIdentity identity_;
  const std::shared_ptr<const CloudStore> store_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<arrow::io::RandomAccessFile> opened_;
  std::string etag_;
};

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_FETCHES_H_
