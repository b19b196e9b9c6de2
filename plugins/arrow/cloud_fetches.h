#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_FETCHES_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_FETCHES_H_

#include <arrow/buffer.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/cloud_files.h"
#include "core/io/file_identity.h"
#include "core/io/random_access_file.h"
#include "plugins/arrow/cloud_call.h"

namespace feedmill {

// Bytes of one request of a fetch. The requests under way must end within the
// patience, so they are small on slow links. They are large on fast links,
// because each costs a round trip. Any thread.
class RequestSize {
 public:
  uint64_t bytes() const { return bytes_; }
  // Notes that a request for `bytes` took `time`.
  void Note(uint64_t bytes, absl::Duration time, absl::Duration patience);

 private:
  std::atomic<uint64_t> bytes_ = uint64_t{1} << 20;
};

// An Arrow file system, shared by all its open files.
struct CloudStore {
  // Repeats failed requests itself. Google's client first waits 1 s.
  std::shared_ptr<arrow::fs::FileSystem> files;
  // Returns a failed request at once, so that CloudCall repeats it sooner. For
  // calls of one request, or that keep what they have. Azure: the same as
  // files.
  std::shared_ptr<arrow::fs::FileSystem> files_once;
  CloudSettings settings{};
  // True if an open file reads one version only. Otherwise the version is
  // checked after each fetch.
  bool pins_versions = false;
  // True if it decompresses objects with Content-Encoding: gzip.
  bool decompresses = false;
  std::shared_ptr<RequestSize> request_size = std::make_shared<RequestSize>();
};

// Size and modification time, from Arrow.
FileIdentity IdentityOfInfo(const arrow::fs::FileInfo& info);

// The state of a fetch, used by its CloudCall until that has ended.
struct Fetching {
  ByteRange range;
  std::shared_ptr<arrow::Buffer> bytes;
  uint64_t done = 0;  // bytes that a repeated attempt need not fetch again
};

// A range being fetched. Readers wait for it. Any thread.
class Fetch {
 public:
  using Bytes = std::shared_ptr<arrow::Buffer>;

  Fetch(std::shared_ptr<CloudCall> call,
        std::shared_ptr<const Fetching> fetching)
      : call_(std::move(call)), fetching_(std::move(fetching)) {}

  // Errors: see CloudCall::Wait.
  absl::StatusOr<Bytes> Wait() const {
    const absl::Status status = call_->Wait();
    if (!status.ok()) return status;
    return fetching_->bytes;
  }

 private:
  const std::shared_ptr<CloudCall> call_;
  const std::shared_ptr<const Fetching> fetching_;
};

// One version of an object, opened by its first fetch. Shared by its fetches,
// which may outlive the file.
class CloudObject : public std::enable_shared_from_this<CloudObject> {
 public:
  CloudObject(std::string name, std::string path, FileIdentity identity,
              std::shared_ptr<const CloudStore> store);

  const std::string& name() const { return name_; }
  const FileIdentity& identity() const { return identity_; }

  // Starts to fetch a range on a thread of the pool.
  std::shared_ptr<Fetch> Begin(const ByteRange& range);

 private:
  absl::StatusOr<std::shared_ptr<arrow::io::RandomAccessFile>> Open();
  absl::StatusOr<std::shared_ptr<arrow::io::RandomAccessFile>> Opened();
  absl::Status FetchRest(Fetching& fetching, CloudCall& call);
  void ForgetIfClosed(const std::shared_ptr<arrow::io::RandomAccessFile>& file);
  absl::Status CheckVersion();

  const std::string name_;
  const std::string path_;
  const FileIdentity identity_;
  const std::shared_ptr<const CloudStore> store_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<arrow::io::RandomAccessFile> opened_;
  std::string etag_;      // of the version that was opened first
  bool changed_ = false;  // another version was found
};

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_FETCHES_H_
