#ifndef FEEDMILL_PLUGINS_ARROW_FILE_ADAPTER_H_
#define FEEDMILL_PLUGINS_ARROW_FILE_ADAPTER_H_

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/future.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "core/io/random_access_file.h"

namespace feedmill {

// Adapts a file of feedmill to Arrow. Keeps the first error of a read, because
// Arrow's statuses do not distinguish it from damaged bytes.
//
// Thread-safety: ReadAt and error from any thread; other methods from one.
class FileAdapter final : public arrow::io::RandomAccessFile {
 public:
  FileAdapter(std::shared_ptr<const feedmill::RandomAccessFile> file,
              uint64_t size)
      : file_(std::move(file)), size_(static_cast<int64_t>(size)) {}

  // Returns the first error of the file itself, or OK.
  absl::Status error() const;
  // Returns the file's own error if there is one, else `status`.
  absl::Status ErrorOr(absl::Status status) const;

  arrow::Status Close() override;
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return place_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> GetSize() override { return size_; }
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes,
                                void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t bytes) override;
  // Reads synchronously on the calling thread. Arrow's default would pass the
  // read to its own threads and wait without a bound.
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(
      const arrow::io::IOContext&, int64_t position, int64_t bytes) override;
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(
      const arrow::io::IOContext&, int64_t position, int64_t bytes,
      bool allow_short_read) override;
  arrow::Status WillNeed(
      const std::vector<arrow::io::ReadRange>& ranges) override;

 private:
  const std::shared_ptr<const feedmill::RandomAccessFile> file_;
  const int64_t size_;
  int64_t place_ = 0;
  bool closed_ = false;
  mutable std::mutex mutex_;
  absl::Status error_;  // guarded by mutex_
};

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_FILE_ADAPTER_H_
