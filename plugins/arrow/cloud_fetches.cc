#include "plugins/arrow/cloud_fetches.h"

#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/status.h"
#include "plugins/arrow/arrow_status.h"

namespace feedmill {
namespace {

constexpr uint64_t kRequestBytesMin = uint64_t{64} << 10;
constexpr uint64_t kRequestBytesMax = uint64_t{4} << 20;
// Requests that take less may grow.
constexpr absl::Duration kBriefRequest = absl::Seconds(1);

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

void RequestSize::Note(uint64_t bytes, absl::Duration time,
                       absl::Duration patience) {
  if (time > patience / 8) {
    bytes_ = std::max(bytes / 2, kRequestBytesMin);
  } else if (time < kBriefRequest && bytes == bytes_) {
    bytes_ = std::min(bytes * 2, kRequestBytesMax);
  }
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
  std::string etag = EtagOf(**opened);
  if (!etag_.empty() && etag != etag_) return Changed(name_);
  etag_ = std::move(etag);
  opened_ = *opened;
  return opened_;
}

// After a failed read: the next attempt opens the object again. Google's client
// can forget why a read ended ("Cannot read from closed file").
void CloudObject::Forget(
    const std::shared_ptr<arrow::io::RandomAccessFile>& file) {
  const std::lock_guard lock(mutex_);
  if (opened_ == file) opened_ = nullptr;
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
    const ByteRange& range, CloudCall& call) {
  FM_ASSIGN_OR_RETURN(const auto file, Opened());
  auto buffer = arrow::AllocateBuffer(static_cast<int64_t>(range.size));
  if (!buffer.ok()) return StatusOfArrow(buffer.status());
  for (uint64_t done = 0; done < range.size;) {
    const uint64_t size =
        std::min(range.size - done, store_->request_size->bytes());
    const auto begun = std::chrono::steady_clock::now();
    const auto read = file->ReadAt(static_cast<int64_t>(range.offset + done),
                                   static_cast<int64_t>(size),
                                   (*buffer)->mutable_data() + done);
    if (!read.ok()) {
      Forget(file);
      const absl::Status error = CloudError(name_, read.status());
      // Azure's error for a range beyond the end of an object that has shrunk.
      const bool shorter =
          ErrorText(error).find("InvalidRange") != std::string::npos;
      return absl::IsNotFound(error) || shorter ? Changed(name_) : error;
    }
    if (static_cast<uint64_t>(*read) != size) return Changed(name_);
    done += size;
    store_->request_size->Note(
        size, absl::FromChrono(std::chrono::steady_clock::now() - begun),
        store_->settings.patience);
    call.NoteProgress();
  }
  FM_RETURN_IF_ERROR(CheckVersion());
  return *std::move(buffer);
}

std::shared_ptr<Fetch> CloudObject::Begin(const ByteRange& range) {
  const auto bytes = std::make_shared<Fetch::Bytes>();
  auto call = CloudCall::Start(
      name_,
      fmt::format("bytes {}-{}", range.offset, range.offset + range.size - 1),
      store_->settings,
      [self = shared_from_this(), bytes,
       range](CloudCall& own) -> absl::Status {
        FM_ASSIGN_OR_RETURN(*bytes, self->FetchNow(range, own));
        return absl::OkStatus();
      });
  return std::make_shared<Fetch>(std::move(call), bytes);
}

}  // namespace feedmill
