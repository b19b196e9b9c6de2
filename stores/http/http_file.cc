#include "stores/http/http_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"

namespace feedmill {
namespace {

// Bytes of a file kept after they were read: two blocks of text.
constexpr uint64_t kDoneBytesMax = uint64_t{8} << 20;
constexpr int kRoundTripsAhead = 6;
// A server at a greater distance is far.
constexpr absl::Duration kFar = absl::Milliseconds(20);

}  // namespace

HttpFile::HttpFile(RemoteFile file, HttpStore::ProbeResult found,
                   std::shared_ptr<HttpStore> store)
    : RandomAccessFile(file.name),
      file_(std::move(file)),
      identity_(std::move(found.identity)),
      first_(std::move(found.first)),
      store_(std::move(store)),
      ledger_(store_->memory, kDoneBytesMax),
      has_ranges_(found.whole == nullptr),
      whole_(found.whole) {
  store_->Add(this);
}

HttpFile::~HttpFile() {
  store_->Remove(this);
  if (ledger_.AbandonAll()) store_->loop.Wake();
}

// ---- fetching ahead

// Caller holds mutex_. Returns how far to read beyond a run: six times the
// bytes that are read within a round trip. The requests for them share the
// network, so that even the first answer is complete only when most bytes are
// there. Only then do the next requests follow, and a round trip passes idle.
// With six times, that is a sixth of the time.
uint64_t HttpFile::RunAheadBytes() const {
  const absl::Duration distance = store_->loop.distances().Of(file_.name);
  const uint64_t least = store_->options.run_ahead_bytes;
  if (distance == absl::InfiniteDuration()) return least;
  return std::max(least, rate_.BytesIn(kRoundTripsAhead * distance));
}

// Returns how many times a run to read beyond it. Each growth of a run takes a
// round trip.
uint64_t HttpFile::RunGrowth() const {
  const absl::Duration distance = store_->loop.distances().Of(file_.name);
  return distance > kFar && distance < absl::InfiniteDuration() ? 4 : 2;
}

// Caller holds mutex_.
uint64_t HttpFile::RunRequestBytes(uint64_t ahead) const {
  const HttpOptions& options = store_->options;
  const bool near = store_->loop.distances().IsNear(file_.name);
  // All bytes ahead are in as many requests as may be sent at a time.
  const uint64_t most =
      near ? options.near_request_bytes
           : std::max(options.run_request_bytes, ahead / options.requests_max);
  return std::clamp(run_.size() / (near ? 2 : 8), options.request_bytes,
                    std::max(options.request_bytes, most));
}

// Caller holds mutex_. Returns the parts of a range beyond the announced ones
// that no prefetch has. Without the last part if that is less than a request,
// and not the end of the file: a later call asks for more of it.
std::vector<ByteRange> HttpFile::MissingAhead(const ByteRange& further,
                                              uint64_t request_bytes) const {
  std::vector<ByteRange> missing;
  for (const ByteRange& range : JoinRanges({&further, 1}, 0, identity_.size)) {
    ledger_.AddMissing(range, missing);
    if (missing.empty()) continue;
    const uint64_t end = missing.back().offset + missing.back().size;
    if (end == range.offset + range.size && end < identity_.size &&
        missing.back().size < request_bytes) {
      missing.pop_back();
    }
  }
  return missing;
}

// Caller holds mutex_. Makes prefetches of the ranges, as far as there is
// memory.
void HttpFile::Begin(std::span<const ByteRange> ranges, uint64_t request_bytes,
                     absl::Time now,
                     std::vector<std::shared_ptr<Transfer>>& begun) const {
  for (const ByteRange& range : ranges) {
    for (const ByteRange& part : SplitRange(range, request_bytes)) {
      const auto begin = [&](const ByteRange& each) {
        return begun.emplace_back(
            Transfer::Range(file_, each, identity_, {}, store_->options));
      };
      if (!ledger_.Add(part, now, begin)) break;
    }
  }
}

void HttpFile::Prefetch(std::span<const ByteRange> ranges) const {
  // If it fails, the next read reports the error.
  if (!file_.Prepare().ok()) return;
  const HttpOptions& options = store_->options;
  const std::vector<ByteRange> joined =
      JoinRanges(ranges, options.join_gap_bytes, identity_.size);
  const absl::Time now = SteadyNow();
  uint64_t announced = 0;
  for (const ByteRange& range : joined) announced += range.size;
  uint64_t ahead = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!has_ranges_) return;
    rate_.Add(announced, now);
    ahead = RunAheadBytes();
  }
  store_->MakeRoom(announced + ahead);
  std::vector<std::shared_ptr<Transfer>> begun;
  {
    const std::lock_guard lock(mutex_);
    std::vector<ByteRange> missing;
    ByteRange further;
    for (const ByteRange& range : joined) {
      ledger_.AddMissing(range, missing);
      further = run_.Extend(range, ahead, RunGrowth());
    }
    // Ranges that the reader announced come first.
    Begin(missing, options.request_bytes, now, begun);
    further.size = std::min(further.size, store_->memory.Left() / 4);
    const uint64_t request_bytes = RunRequestBytes(further.size);
    Begin(MissingAhead(further, request_bytes), request_bytes, now, begun);
  }
  if (!begun.empty()) {
    store_->loop.Start(std::move(begun), TransferLoop::Urgency::kAhead);
  }
}

void HttpFile::DropUnneeded(absl::Time before) const {
  const std::lock_guard lock(mutex_);
  ledger_.DropUnneeded(before);
}

// ---- reading

// Without a strong ETag, all bytes must be of the version of the first answer:
// more than the identity may be known then.
absl::Status HttpFile::CheckSeen(const FileIdentity& seen) const {
  if (!identity_.etag.empty() && !IsWeakEtag(identity_.etag)) {
    return absl::OkStatus();
  }
  const std::lock_guard lock(mutex_);
  if (!seen_) seen_ = seen;
  return seen == *seen_ ? absl::OkStatus() : ChangedError(name());
}

absl::Status HttpFile::TakePart(const Ledger::Part& part) const {
  FM_RETURN_IF_ERROR(part.fetch->Wait(part.skip() + part.out.size()));
  FM_RETURN_IF_ERROR(CheckSeen(part.fetch->seen()));
  if (!part.prefetch) return absl::OkStatus();
  part.fetch->CopyTo(part.skip(), part.out);
  const std::lock_guard lock(mutex_);
  ledger_.CountRead(part);
  return absl::OkStatus();
}

absl::Status HttpFile::TakeParts(std::vector<Ledger::Part> parts) const {
  // Parts that no prefetch has are received where the read wants them, in
  // parallel.
  std::vector<std::shared_ptr<Transfer>> direct;
  for (Ledger::Part& part : parts) {
    if (part.prefetch) continue;
    part.fetch = direct.emplace_back(
        Transfer::Range(file_, {part.offset, part.out.size()}, identity_,
                        part.out, store_->options));
  }
  if (!direct.empty()) {
    FM_RETURN_IF_ERROR(file_.Prepare());
    store_->loop.Start(direct, TransferLoop::Urgency::kAwaited);
  }
  for (const Ledger::Part& part : parts) {
    const absl::Status status = TakePart(part);
    if (status.ok()) continue;
    {
      const std::lock_guard lock(mutex_);
      if (part.fetch->no_ranges()) has_ranges_ = false;
      if (!absl::IsCancelled(status)) ledger_.DropFailed(part);
    }
    for (const auto& transfer : direct) transfer->Abandon();
    store_->loop.Wake();
    return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> HttpFile::ReadFromWhole(uint64_t offset,
                                               std::span<std::byte> out) const {
  std::shared_ptr<const WholeFile> whole;
  {
    const std::lock_guard reading(whole_mutex_);
    whole = whole_.lock();
    if (whole == nullptr) {
      FM_ASSIGN_OR_RETURN(whole, store_->ReadWhole(file_, identity_));
      whole_ = whole;
    }
  }
  FM_RETURN_IF_ERROR(CheckSeen(whole->version));
  std::memcpy(out.data(), whole->bytes.data() + offset, out.size());
  return out.size();
}

absl::StatusOr<size_t> HttpFile::Read(uint64_t offset,
                                      std::span<std::byte> out) const {
  if (offset >= identity_.size || out.empty()) return size_t{0};
  out = out.first(std::min<uint64_t>(out.size(), identity_.size - offset));
  if (offset < first_.size() && out.size() <= first_.size() - offset) {
    std::memcpy(out.data(), first_.data() + offset, out.size());
    return out.size();
  }
  bool has_ranges;
  std::vector<Ledger::Part> parts;
  {
    const std::lock_guard lock(mutex_);
    has_ranges = has_ranges_;
    if (has_ranges) {
      parts = ledger_.PartsOf(offset, out, store_->options.request_bytes,
                              SteadyNow());
    }
  }
  if (has_ranges) {
    const absl::Status status = TakeParts(std::move(parts));
    if (status.ok()) return out.size();
    const std::lock_guard lock(mutex_);
    if (has_ranges_) return status;
  }
  return ReadFromWhole(offset, out);
}

// ---- the file system

absl::StatusOr<std::unique_ptr<RandomAccessFile>> HttpFileSystem::Open(
    const std::string& name) const {
  FM_ASSIGN_OR_RETURN(RemoteFile file, RemoteFileOf(name));
  HttpStore::ProbeResult found = std::move(store_->FindAll({&file, 1}).front());
  FM_RETURN_IF_ERROR(found.status);
  return std::make_unique<HttpFile>(std::move(file), std::move(found), store_);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> HttpFileSystem::OpenKnown(
    const std::string& name, const FileIdentity& known) const {
  FM_ASSIGN_OR_RETURN(RemoteFile file, RemoteFileOf(name));
  return std::make_unique<HttpFile>(
      std::move(file), HttpStore::ProbeResult{.identity = known}, store_);
}

std::vector<absl::StatusOr<FileStat>> HttpFileSystem::StatAll(
    std::span<const std::string> names) const {
  std::vector<absl::StatusOr<FileStat>> stats(
      names.size(), absl::StatusOr<FileStat>(FileStat{}));
  std::vector<RemoteFile> files;
  std::vector<size_t> places;
  for (size_t k = 0; k < names.size(); ++k) {
    auto file = RemoteFileOf(names[k]);
    if (file.ok()) {
      files.push_back(*std::move(file));
      places.push_back(k);
    } else {
      stats[k] = file.status();
    }
  }
  const auto found = store_->FindAll(files);
  for (size_t k = 0; k < found.size(); ++k) {
    if (found[k].status.ok()) {
      stats[places[k]] = FileStat{found[k].identity, false};
    } else {
      stats[places[k]] = found[k].status;
    }
  }
  return stats;
}

}  // namespace feedmill
