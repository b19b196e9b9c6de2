#ifndef FEEDMILL_STORES_HTTP_HTTP_FILE_H_
#define FEEDMILL_STORES_HTTP_HTTP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/io/fetch_ledger.h"
#include "core/io/file_system.h"
#include "core/io/random_access_file.h"
#include "core/io/range_plan.h"
#include "stores/http/http_store.h"
#include "stores/http/read_rate.h"
#include "stores/http/transfer.h"

namespace feedmill {

// An open file behind a URL. Reads one version only: each request names the
// version.
class HttpFile final : public RandomAccessFile {
 public:
  // `found`: the version to read, and bytes of it that are there already.
  HttpFile(RemoteFile file, HttpStore::ProbeResult found,
           std::shared_ptr<HttpStore> store);
  ~HttpFile() override;

  absl::StatusOr<FileIdentity> Identity() const override { return identity_; }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override;
  void Prefetch(std::span<const ByteRange> ranges) const override;
  uint64_t ahead_bytes() const override { return store_->options.ahead_bytes; }

  // FetchLedger::DropUnneeded.
  void DropUnneeded(absl::Time before) const;

 private:
  // Prefetches have own memory; other parts of a read are received where
  // it wants them.
  using Ledger = FetchLedger<Transfer>;

  absl::Status TakeParts(std::vector<Ledger::Part> parts) const;
  absl::Status TakePart(const Ledger::Part& part) const;
  absl::Status CheckSeen(const FileIdentity& seen) const;
  uint64_t RunAheadBytes() const;
  uint64_t RunGrowth() const;
  uint64_t RunRequestBytes(uint64_t ahead) const;
  std::vector<ByteRange> MissingAhead(const ByteRange& further,
                                      uint64_t request_bytes) const;
  void Begin(std::span<const ByteRange> ranges, uint64_t request_bytes,
             absl::Time now,
             std::vector<std::shared_ptr<Transfer>>& begun) const;
  absl::StatusOr<size_t> ReadFromWhole(uint64_t offset,
                                       std::span<std::byte> out) const;

  const RemoteFile file_;
  const FileIdentity identity_;
  const std::string first_;  // the first bytes, as far as they are known
  const std::shared_ptr<HttpStore> store_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  mutable Ledger ledger_;
  mutable SequentialRun run_;
  mutable ReadRate rate_;  // of announced ranges
  mutable bool has_ranges_ = true;
  mutable std::optional<FileIdentity> seen_;
  mutable std::weak_ptr<const WholeFile> whole_;

  mutable std::mutex whole_mutex_;  // held while a thread reads the whole file
};

// Opens and probes the files of a store over HTTP.
class HttpFileSystem : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const override;
  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    return StatAll({&name, 1}).front();
  }
  // Probes all files in parallel.
  std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const override;

 protected:
  explicit HttpFileSystem(std::shared_ptr<HttpStore> store)
      : store_(std::move(store)) {}

  // Returns the file of a name, or what is wrong with the name.
  virtual absl::StatusOr<RemoteFile> RemoteFileOf(
      const std::string& name) const = 0;

  const std::shared_ptr<HttpStore> store_;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_FILE_H_
