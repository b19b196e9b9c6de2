#include "plugins/arrow/file_adapter.h"

#include <algorithm>

#include "core/base/status.h"
#include "plugins/arrow/bounded_pool.h"

namespace feedmill {

absl::Status FileAdapter::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

absl::Status FileAdapter::ErrorOr(absl::Status status) const {
  const absl::Status own = error();
  return own.ok() || status.ok() ? status : own;
}

arrow::Status FileAdapter::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

arrow::Status FileAdapter::Seek(int64_t position) {
  if (position < 0 || position > size_) {
    return arrow::Status::IOError("a place outside the file: ", position);
  }
  place_ = position;
  return arrow::Status::OK();
}

arrow::Result<int64_t> FileAdapter::Read(int64_t bytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(place_, bytes, out));
  place_ += got;
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> FileAdapter::Read(int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(place_, bytes));
  place_ += buffer->size();
  return buffer;
}

arrow::Result<int64_t> FileAdapter::ReadAt(int64_t position, int64_t bytes,
                                           void* out) {
  if (position < 0 || bytes < 0 || position > size_) {
    return arrow::Status::IOError("a place outside the file: ", position);
  }
  const auto count = static_cast<size_t>(std::min(bytes, size_ - position));
  const auto got = file_->Read(static_cast<uint64_t>(position),
                               {static_cast<std::byte*>(out), count});
  if (!got.ok()) {
    const std::lock_guard lock(mutex_);
    if (error_.ok()) error_ = got.status();
    return arrow::Status::IOError(ErrorText(got.status()));
  }
  return static_cast<int64_t>(*got);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> FileAdapter::ReadAt(
    int64_t position, int64_t bytes) {
  // Allocates at most the file's size, even if damaged metadata asks for more.
  const int64_t most =
      std::clamp<int64_t>(size_ - position, 0, std::max<int64_t>(bytes, 0));
  ARROW_ASSIGN_OR_RAISE(auto buffer,
                        arrow::AllocateResizableBuffer(most, BoundedPool()));
  ARROW_ASSIGN_OR_RAISE(const int64_t got,
                        ReadAt(position, bytes, buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(got, /*shrink_to_fit=*/false));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

arrow::Future<std::shared_ptr<arrow::Buffer>> FileAdapter::ReadAsync(
    const arrow::io::IOContext&, int64_t position, int64_t bytes) {
  return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(
      ReadAt(position, bytes));
}

arrow::Future<std::shared_ptr<arrow::Buffer>> FileAdapter::ReadAsync(
    const arrow::io::IOContext&, int64_t position, int64_t bytes,
    bool allow_short_read) {
  auto read = ReadAt(position, bytes);
  if (read.ok() && (*read)->size() < bytes && !allow_short_read) {
    read = arrow::Status::IOError("the file ends ", bytes - (*read)->size(),
                                  " bytes too early");
  }
  return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(
      std::move(read));
}

arrow::Status FileAdapter::WillNeed(
    const std::vector<arrow::io::ReadRange>& ranges) {
  if (file_->ahead_bytes() == 0) return arrow::Status::OK();
  std::vector<ByteRange> announced;
  for (const auto& range : ranges) {
    if (range.offset < 0 || range.length <= 0) continue;
    announced.push_back({static_cast<uint64_t>(range.offset),
                         static_cast<uint64_t>(range.length)});
  }
  file_->Prefetch(announced);
  return arrow::Status::OK();
}

}  // namespace feedmill
