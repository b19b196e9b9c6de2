#include "plugins/arrow/cloud_fetches.h"

#include <arrow/util/key_value_metadata.h>

#include <algorithm>

#include "core/base/status.h"

namespace feedmill {
namespace {

absl::Status Changed(const std::string& name) {
  return FailedPrecondition(
      "{}: changed since the job began; restore it, or start a new job", name);
}

std::string EtagOf(arrow::io::RandomAccessFile& file) {
  const auto metadata = file.ReadMetadata();
  if (!metadata.ok() || *metadata == nullptr) return "";
  return (*metadata)->Get("ETag").ValueOr("");
}

}  // namespace

FileIdentity IdentityOfInfo(const arrow::fs::FileInfo& info) {
  FileIdentity identity{
      static_cast<uint64_t>(std::max<int64_t>(info.size(), 0))};
  if (info.mtime() != arrow::fs::kNoTime) {
    identity.mtime_ns = info.mtime().time_since_epoch().count();
  }
  return identity;
}

CloudObject::CloudObject(std::string name, std::string path,
                         FileIdentity identity,
                         std::shared_ptr<const CloudStore> store)
    : name_(std::move(name)),
      path_(std::move(path)),
      identity_(std::move(identity)),
      store_(std::move(store)) {}

// Reads the version after opening the object, so that a later change is
// detected.
absl::StatusOr<std::shared_ptr<arrow::io::RandomAccessFile>>
CloudObject::Opened() {
  const std::lock_guard lock(mutex_);
  if (opened_ != nullptr) return opened_;
  auto opened = store_->files->OpenInputFile(path_);
  if (!opened.ok()) return CloudError(name_, opened.status());
  const auto info = store_->files->GetFileInfo(path_);
  if (!info.ok()) return CloudError(name_, info.status());
  const FileIdentity found = IdentityOfInfo(*info);
  const bool same = KnowsSizeOnly(identity_) ? found.size == identity_.size
                                             : found == identity_;
  if (!info->IsFile() || !same) return Changed(name_);
  etag_ = EtagOf(**opened);
  opened_ = *opened;
  return opened_;
}

absl::Status CloudObject::CheckVersion() {
  if (store_->pins_versions) return absl::OkStatus();
  const auto again = store_->files->OpenInputFile(path_);
  if (!again.ok()) {
    const absl::Status error = CloudError(name_, again.status());
    return absl::IsNotFound(error) ? Changed(name_) : error;
  }
  return EtagOf(**again) == etag_ ? absl::OkStatus() : Changed(name_);
}

absl::StatusOr<std::shared_ptr<arrow::Buffer>> CloudObject::FetchNow(
    const ByteRange& range) {
  FM_ASSIGN_OR_RETURN(const auto file, Opened());
  auto buffer = file->ReadAt(static_cast<int64_t>(range.offset),
                             static_cast<int64_t>(range.size));
  if (!buffer.ok()) {
    const absl::Status error = CloudError(name_, buffer.status());
    // Azure's error for a range beyond the end of an object that has shrunk.
    const bool shorter =
        ErrorText(error).find("InvalidRange") != std::string::npos;
    return absl::IsNotFound(error) || shorter ? Changed(name_) : error;
  }
  FM_RETURN_IF_ERROR(CheckVersion());
  if (static_cast<uint64_t>((*buffer)->size()) == range.size) return *buffer;
  return Changed(name_);
}

std::shared_ptr<Fetch> CloudObject::Begin(const ByteRange& range) {
  const auto bytes = std::make_shared<Fetch::Bytes>();
  auto call = CloudCall::Start(
      name_, store_->settings,
      [self = shared_from_this(), bytes, range]() -> absl::Status {
        FM_ASSIGN_OR_RETURN(*bytes, self->FetchNow(range));
        return absl::OkStatus();
      });
  return std::make_shared<Fetch>(std::move(call), bytes);
}

}  // namespace feedmill
