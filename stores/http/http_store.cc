#include "stores/http/http_store.h"

#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "stores/http/http_file.h"

namespace feedmill {
namespace {

// Bytes that no reader took for this time may be dropped for others.
constexpr absl::Duration kUnreadMax = absl::Seconds(20);

}  // namespace

bool HttpStore::Take(uint64_t bytes) {
  uint64_t taken = taken_;
  do {
    if (taken + bytes > options.memory_bytes) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return true;
}

void HttpStore::GiveBack(uint64_t bytes) { taken_ -= bytes; }

void HttpStore::MakeRoom(uint64_t bytes) {
  if (bytes <= Left()) return;
  const absl::Time before = SteadyNow() - kUnreadMax;
  const std::lock_guard lock(mutex_);
  for (const HttpFile* const file : files_) {
    GiveBack(file->DropUnneeded(before));
  }
}

void HttpStore::Add(const HttpFile* file) {
  const std::lock_guard lock(mutex_);
  files_.insert(file);
}

void HttpStore::Remove(const HttpFile* file) {
  const std::lock_guard lock(mutex_);
  files_.erase(file);
}

void HttpStore::Keep(std::shared_ptr<const WholeFile> file) {
  std::vector<std::shared_ptr<const WholeFile>> dropped;  // outside the lock
  const std::lock_guard lock(mutex_);
  kept_bytes_ += file->bytes.size();
  kept_.push_front(std::move(file));
  while (kept_bytes_ > options.memory_bytes && kept_.size() > 1) {
    kept_bytes_ -= kept_.back()->bytes.size();
    dropped.push_back(std::move(kept_.back()));
    kept_.pop_back();
  }
}

std::shared_ptr<const WholeFile> HttpStore::FindKept(
    const std::string& url, const FileIdentity& known) {
  const std::lock_guard lock(mutex_);
  for (const auto& file : kept_) {
    if (file->url == url && file->identity == known) return file;
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const WholeFile>> HttpStore::ReadWhole(
    const std::string& url, const std::optional<FileIdentity>& known) {
  if (known) {
    if (auto kept = FindKept(url, *known)) return kept;
  }
  const auto transfer = Transfer::Whole(url, known, options);
  loop.Start({transfer}, TransferLoop::Urgency::kAwaited);
  if (absl::Status status = transfer->WaitForEnd(); !status.ok()) {
    transfer->Abandon();
    loop.Wake();
    return status;
  }
  auto whole = std::make_shared<WholeFile>();
  whole->url = url;
  whole->identity = transfer->identity();
  whole->bytes = transfer->TakeWhole();
  Keep(whole);
  return whole;
}

}  // namespace feedmill
