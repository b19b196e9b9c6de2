#include "plugins/arrow/cloud_fetches.h"

#include <arrow/util/io_util.h>
#include <arrow/util/key_value_metadata.h>
#include <arrow/util/thread_pool.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "core/base/status.h"
#include "plugins/arrow/arrow_status.h"

namespace feedmill {
namespace {

constexpr int kThreads = 64;
constexpr std::chrono::milliseconds kStopLook(50);
// Arrow's clients may end a request this long after their own limits.
constexpr absl::Duration kBeyondPatience = absl::Seconds(30);
constexpr size_t kTextBytesMax = 300;

// Number of running requests.
std::atomic<int> g_under_way = 0;

// A request cannot be cancelled and must not use destroyed objects of its
// client. If requests are running, the process ends without destructors.
void EndWithoutCleanup(int status, void*) {
  if (g_under_way == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

// Never destroyed: a request that hangs must not delay the end of the process.
arrow::internal::ThreadPool* Threads() {
  static const std::shared_ptr<arrow::internal::ThreadPool>& pool =
      *new std::shared_ptr<arrow::internal::ThreadPool>(
          arrow::internal::ThreadPool::MakeEternal(kThreads).ValueOr(nullptr));
  static const int registered = on_exit(&EndWithoutCleanup, nullptr);
  (void)registered;
  return pool.get();
}

absl::Status Changed(const std::string& name) {
  return FailedPrecondition(
      "{}: changed since the job began; restore it, or start a new job", name);
}

bool HasOne(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) {
    return text.find(word) != std::string::npos;
  });
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

absl::Status CloudError(const std::string& name, const arrow::Status& status) {
  if (arrow::internal::ErrnoFromStatus(status) == ENOENT) {
    return NotFound("{}: the store has no such object", name);
  }
  std::string text = ErrorText(StatusOfArrow(status));
  if (HasOne(text, {"BlobNotFound", "ContainerNotFound"})) {
    return NotFound("{}: the store has no such object", name);
  }
  if (HasOne(text, {"PERMISSION_DENIED", "UNAUTHENTICATED", " 401", " 403",
                    "AuthenticationFailed", "AuthorizationFailure",
                    "AuthorizationPermissionMismatch", "NoAuthenticationInfo",
                    "PublicAccessNotPermitted", "INVALID_ARGUMENT",
                    "FAILED_PRECONDITION", "credential"})) {
    text.resize(std::min(text.size(), kTextBytesMax));
    return FailedPrecondition(
        "{}: refused: check the credentials of this process, and that they may "
        "read it: {}",
        name, text);
  }
  text.resize(std::min(text.size(), kTextBytesMax));
  return Unavailable(
      "{}: no answer of use; check the store and the network, then read again: "
      "{}",
      name, text);
}

void Fetch::Finish(absl::StatusOr<std::shared_ptr<arrow::Buffer>> result) {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  result_ = std::move(result);
  changed_.notify_all();
}

absl::StatusOr<std::shared_ptr<arrow::Buffer>> Fetch::Wait(
    const std::string& name, const CloudSettings& settings) const {
  const auto end =
      std::chrono::steady_clock::now() +
      absl::ToChronoNanoseconds(2 * settings.patience + kBeyondPatience);
  std::unique_lock lock(mutex_);
  while (!finished_) {
    if (settings.stop_asked()) {
      return Cancelled("{}: reading was stopped", name);
    }
    if (std::chrono::steady_clock::now() > end) {
      return Unavailable(
          "{}: no answer; check the store and the network, then read again",
          name);
    }
    changed_.wait_for(lock, kStopLook);
  }
  return result_;
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
    const bool shorter = HasOne(ErrorText(error), {"InvalidRange"});
    return absl::IsNotFound(error) || shorter ? Changed(name_) : error;
  }
  FM_RETURN_IF_ERROR(CheckVersion());
  if (static_cast<uint64_t>((*buffer)->size()) == range.size) return *buffer;
  return Changed(name_);
}

std::shared_ptr<Fetch> CloudObject::Begin(const ByteRange& range) {
  const auto fetch = std::make_shared<Fetch>();
  arrow::internal::ThreadPool* const threads = Threads();
  const auto work = [self = shared_from_this(), fetch, range] {
    ++g_under_way;
    fetch->Finish(WithoutExceptions([&] { return self->FetchNow(range); }));
    --g_under_way;
  };
  if (threads == nullptr || !threads->Spawn(work).ok()) {
    fetch->Finish(ResourceExhausted("{}: no thread to read it", name_));
  }
  return fetch;
}

}  // namespace feedmill
