#include "plugins/arrow/cloud_fetches.h"

#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <utility>

#include "core/base/status.h"
#include "core/io/byte_stream.h"
#include "core/io/file_errors.h"
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

// Returns the value of the first of the keys that the object's metadata has; ""
// if it has none.
std::string ValueOf(std::initializer_list<const char*> keys,
                    arrow::io::RandomAccessFile& file) {
  const auto metadata = file.ReadMetadata();
  if (!metadata.ok() || *metadata == nullptr) return "";
  for (const char* const key : keys) {
    if (auto value = (*metadata)->Get(key); value.ok()) return *value;
  }
  return "";
}

std::string EtagOf(arrow::io::RandomAccessFile& file) {
  return ValueOf({"ETag", "etag"}, file);  // Azure's, Google's
}

// Google's store decompresses objects with Content-Encoding: gzip, and then
// ignores ranges, unless the request has "Accept-Encoding: gzip", which Arrow's
// client does not send, or the store obeys the "Cache-Control: no-transform"
// that the client does send. If it obeys, bytes come as they are stored: gzip's
// header, of which a later range continues an earlier one.
absl::Status CheckEncoding(const std::string& name, bool decompresses,
                           arrow::io::RandomAccessFile& file) {
  const std::string coding = ValueOf({"Content-Encoding"}, file);
  if (const auto unknown = UnknownContentCoding(coding); !unknown.empty()) {
    return UnknownCodingError(name, unknown);
  }
  if (!decompresses || coding != "gzip") return absl::OkStatus();
  constexpr int64_t kHeadBytes = 16;
  constexpr int64_t kBehind = 4;
  const auto head = file.ReadAt(0, kHeadBytes);
  if (!head.ok()) {
    return Unavailable(
        "{} (it has Content-Encoding: gzip; see docs/storage.md)",
        ErrorText(CloudError(name, head.status())));
  }
  const std::string begin = (*head)->ToString();
  if (!begin.starts_with("\x1f\x8b")) return TranscodedError(name);
  const auto rest = file.ReadAt(kBehind, kHeadBytes - kBehind);
  if (!rest.ok()) return CloudError(name, rest.status());
  if (begin.substr(kBehind) == (*rest)->ToString()) return absl::OkStatus();
  return TranscodedError(name);
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

// Caller holds mutex_. Reads the version after opening the object, so that a
// later change is detected.
absl::StatusOr<std::shared_ptr<arrow::io::RandomAccessFile>>
CloudObject::Open() {
  auto opened = store_->files_once->OpenInputFile(path_);
  if (!opened.ok()) return CloudError(name_, opened.status());
  // Files of Google's store begin a request for the whole object when they are
  // first used, in each thread that uses them at that moment.
  static_cast<void>((*opened)->closed());
  const auto info = store_->files_once->GetFileInfo(path_);
  if (!info.ok()) return CloudError(name_, info.status());
  const FileIdentity found = IdentityOfInfo(*info);
  const bool same = KnowsSizeOnly(identity_) ? found.size == identity_.size
                                             : found == identity_;
  std::string etag = EtagOf(**opened);
  changed_ = !info->IsFile() || !same || (!etag_.empty() && etag != etag_);
  if (changed_) return Changed(name_);
  FM_RETURN_IF_ERROR(CheckEncoding(name_, store_->decompresses, **opened));
  etag_ = std::move(etag);
  return *std::move(opened);
}

absl::StatusOr<std::shared_ptr<arrow::io::RandomAccessFile>>
CloudObject::Opened() {
  const std::lock_guard lock(mutex_);
  if (opened_ != nullptr) return opened_;
  if (changed_) return Changed(name_);
  FM_ASSIGN_OR_RETURN(opened_, Open());
  return opened_;
}

// After a failed read: the next attempt opens the object again if it must.
// Google's client closes a file whose first request failed.
void CloudObject::ForgetIfClosed(
    const std::shared_ptr<arrow::io::RandomAccessFile>& file) {
  const std::lock_guard lock(mutex_);
  if (opened_ == file && file->closed()) opened_ = nullptr;
}

absl::Status CloudObject::CheckVersion() {
  if (store_->pins_versions) return absl::OkStatus();
  const auto again = store_->files_once->OpenInputFile(path_);
  if (!again.ok()) {
    const absl::Status error = CloudError(name_, again.status());
    return absl::IsNotFound(error) ? Changed(name_) : error;
  }
  return EtagOf(**again) == etag_ ? absl::OkStatus() : Changed(name_);
}

// An attempt of a fetch. It continues where the last one failed.
absl::Status CloudObject::FetchRest(Fetching& fetching, CloudCall& call) {
  FM_ASSIGN_OR_RETURN(const auto file, Opened());
  const ByteRange& range = fetching.range;
  if (fetching.bytes == nullptr) {
    auto buffer = arrow::AllocateBuffer(static_cast<int64_t>(range.size));
    if (!buffer.ok()) return StatusOfArrow(buffer.status());
    fetching.bytes = *std::move(buffer);
  }
  while (fetching.done < range.size) {
    const uint64_t size =
        std::min(range.size - fetching.done, store_->request_size->bytes());
    const auto begun = std::chrono::steady_clock::now();
    const auto read =
        file->ReadAt(static_cast<int64_t>(range.offset + fetching.done),
                     static_cast<int64_t>(size),
                     fetching.bytes->mutable_data() + fetching.done);
    if (!read.ok()) {
      ForgetIfClosed(file);
      const absl::Status error = CloudError(name_, read.status());
      // Azure's error for a range beyond the end of an object that has shrunk.
      const bool shorter =
          ErrorText(error).find("InvalidRange") != std::string::npos;
      return absl::IsNotFound(error) || shorter ? Changed(name_) : error;
    }
    if (static_cast<uint64_t>(*read) != size) return Changed(name_);
    fetching.done += size;
    store_->request_size->Note(
        size, absl::FromChrono(std::chrono::steady_clock::now() - begun),
        store_->settings.patience);
    call.NoteKeptProgress();
  }
  return CheckVersion();
}

std::shared_ptr<Fetch> CloudObject::Begin(const ByteRange& range) {
  const auto fetching = std::make_shared<Fetching>(Fetching{range, nullptr});
  auto call = CloudCall::Start(
      name_,
      fmt::format("bytes {}-{}", range.offset, range.offset + range.size - 1),
      store_->settings, [self = shared_from_this(), fetching](CloudCall& own) {
        return self->FetchRest(*fetching, own);
      });
  return std::make_shared<Fetch>(std::move(call), fetching);
}

}  // namespace feedmill
