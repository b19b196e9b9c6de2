#include "stores/http/http_store.h"

#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "stores/http/http_file.h"

namespace feedmill {
namespace {

// Bytes that were not read for this time may be dropped.
constexpr absl::Duration kUnreadMax = absl::Seconds(20);

}  // namespace

void HttpStore::MakeRoom(uint64_t bytes) {
  if (bytes <= memory.Left()) return;
  const absl::Time before = SteadyNow() - kUnreadMax;
  const std::lock_guard lock(mutex_);
  for (const HttpFile* const file : files_) file->DropUnneeded(before);
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
  // destroyed outside the lock
  std::vector<std::shared_ptr<const WholeFile>> dropped;
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

absl::Status HttpStore::Run(const std::shared_ptr<Transfer>& transfer) {
  loop.Start({transfer}, TransferLoop::Urgency::kAwaited);
  absl::Status status = transfer->WaitForEnd();
  if (!status.ok()) {
    transfer->Abandon();
    loop.Wake();
  }
  return status;
}

absl::StatusOr<std::shared_ptr<const WholeFile>> HttpStore::ReadWhole(
    const RemoteFile& file, const std::optional<FileIdentity>& known) {
  if (known) {
    if (auto kept = FindKept(file.name, *known)) return kept;
  }
  FM_RETURN_IF_ERROR(file.Prepare());
  const auto transfer = Transfer::Whole(file, known, options);
  FM_RETURN_IF_ERROR(Run(transfer));
  if (!transfer->head().has_end()) {
    return FailedPrecondition(
        "{}: the server does not say how long the file is (it sends neither "
        "Content-Length nor chunks), so a broken connection would look like "
        "its end; serve it by another server, or copy it",
        file.name);
  }
  auto whole = std::make_shared<WholeFile>();
  whole->url = file.name;
  whole->identity = transfer->identity();
  whole->version = transfer->seen();
  whole->bytes = transfer->TakeWhole();
  Keep(whole);
  return whole;
}

void HttpStore::FindOne(const RemoteFile& file, Transfer& probe,
                        ProbeResult& found) {
  found.status = probe.WaitForEnd();
  if (!found.status.ok()) return probe.Abandon();
  if (probe.answer() == 206) {
    found.identity = probe.identity();
    found.first = probe.TakeFirst();
    return;
  }
  // The server does not support ranges, or the file is empty.
  auto whole = ReadWhole(file, std::nullopt);
  found.status = whole.status();
  if (!whole.ok()) return;
  found.identity = (*whole)->identity;
  found.whole = *std::move(whole);
}

std::vector<HttpStore::ProbeResult> HttpStore::FindAll(
    std::span<const RemoteFile> files) {
  std::vector<ProbeResult> all(files.size());
  std::vector<std::shared_ptr<Transfer>> probes(files.size());
  std::vector<std::shared_ptr<Transfer>> begun;
  for (size_t k = 0; k < files.size(); ++k) {
    all[k].status = files[k].Prepare();
    if (!all[k].status.ok()) continue;
    probes[k] = begun.emplace_back(Transfer::Probe(files[k], options));
  }
  loop.Start(std::move(begun), TransferLoop::Urgency::kAwaited);
  absl::Status failed;
  for (size_t k = 0; k < files.size(); ++k) {
    if (probes[k] == nullptr) continue;
    if (failed.ok()) {
      FindOne(files[k], *probes[k], all[k]);
    } else {
      probes[k]->Abandon();
      all[k].status = failed;
    }
    // A server that is down is down for all files, and each would take long to
    // report it.
    const absl::Status& status = all[k].status;
    if (absl::IsUnavailable(status) || absl::IsCancelled(status)) {
      failed = status;
    }
  }
  if (!failed.ok()) loop.Wake();
  return all;
}

}  // namespace feedmill
