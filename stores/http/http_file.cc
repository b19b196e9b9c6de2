#include "stores/http/http_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/piece.h"
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
      has_ranges_(found.whole == nullptr),
      whole_(found.whole) {
  store_->Add(this);
}

HttpFile::~HttpFile() {
  store_->Remove(this);
  uint64_t bytes = 0;
  for (const auto& [offset, piece] : pieces_) {
    piece.transfer->Abandon();
    bytes += piece.size;
  }
  if (bytes == 0) return;
  pieces_.clear();
  store_->GiveBack(bytes);
  store_->loop.Wake();
}

// ---- fetching ahead

void HttpFile::AddMissing(const ByteRange& range,
                          std::vector<ByteRange>& missing) const {
  uint64_t at = range.offset;
  const uint64_t end = range.offset + range.size;
  auto piece = pieces_.upper_bound(at);
  if (piece != pieces_.begin()) --piece;
  for (; at < end; ++piece) {
    const bool last = piece == pieces_.end();
    const uint64_t begin = last ? end : std::min(piece->first, end);
    if (begin > at) missing.push_back({at, begin - at});
    if (last || begin == end) return;
    at = std::max(at, piece->first + piece->second.size);
  }
}

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
// that no piece has. Without the last part if that is less than a request, and
// not the end of the file: a later call asks for more of it.
std::vector<ByteRange> HttpFile::MissingAhead(const ByteRange& further,
                                              uint64_t request_bytes) const {
  std::vector<ByteRange> missing;
  for (const ByteRange& range : JoinRanges({&further, 1}, 0, identity_.size)) {
    AddMissing(range, missing);
    if (missing.empty()) continue;
    const uint64_t end = missing.back().offset + missing.back().size;
    if (end == range.offset + range.size && end < identity_.size &&
        missing.back().size < request_bytes) {
      missing.pop_back();
    }
  }
  return missing;
}

// Caller holds mutex_. Makes pieces of the ranges, as far as there is memory.
void HttpFile::Begin(std::span<const ByteRange> ranges, uint64_t request_bytes,
                     absl::Time now,
                     std::vector<std::shared_ptr<Transfer>>& begun) const {
  for (const ByteRange& range : ranges) {
    for (const ByteRange& part : SplitRange(range, request_bytes)) {
      if (!store_->Take(part.size)) break;
      begun.push_back(
          Transfer::Range(file_, part, identity_, {}, store_->options));
      pieces_[part.offset] = {
          .transfer = begun.back(), .size = part.size, .used = now};
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
      AddMissing(range, missing);
      further = run_.Extend(range, ahead, RunGrowth());
    }
    // Ranges that the reader announced come first.
    Begin(missing, options.request_bytes, now, begun);
    further.size = std::min(further.size, store_->Left() / 4);
    const uint64_t request_bytes = RunRequestBytes(further.size);
    Begin(MissingAhead(further, request_bytes), request_bytes, now, begun);
  }
  if (!begun.empty()) {
    store_->loop.Start(std::move(begun), TransferLoop::Urgency::kAhead);
  }
}

// Caller holds mutex_. Drops the piece that was read longest ago and returns
// its size.
uint64_t HttpFile::DropOldestDone() const {
  const uint64_t offset = done_.front();
  done_.pop_front();
  const auto found = pieces_.find(offset);
  // The piece may have failed or been fetched again.
  if (found == pieces_.end() || !found->second.done) return 0;
  const uint64_t bytes = found->second.size;
  pieces_.erase(found);
  done_bytes_ -= bytes;
  return bytes;
}

uint64_t HttpFile::DropUnneeded(absl::Time before) const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  while (!done_.empty()) bytes += DropOldestDone();
  std::erase_if(pieces_, [&](const auto& entry) {
    const Piece& piece = entry.second;
    // A running transfer, or one that a reader waits for, is in use.
    if (piece.used >= before || piece.transfer.use_count() > 1) return false;
    bytes += piece.size;
    return true;
  });
  return bytes;
}

// ---- reading

// Adds transfers that write directly into `out`, in parallel.
void HttpFile::AddDirect(uint64_t offset, std::span<std::byte> out,
                         std::vector<Part>& parts) const {
  for (const ByteRange& part :
       SplitRange({offset, out.size()}, store_->options.request_bytes)) {
    const std::span<std::byte> into =
        out.subspan(part.offset - offset, part.size);
    parts.push_back(
        {Transfer::Range(file_, part, identity_, into, store_->options), 0,
         into});
  }
}

// Divides a read into parts of pieces and parts to be fetched.
std::vector<HttpFile::Part> HttpFile::PartsOf(uint64_t offset,
                                              std::span<std::byte> out) const {
  std::vector<Part> parts;
  const absl::Time now = SteadyNow();
  const std::lock_guard lock(mutex_);
  uint64_t at = offset;
  const uint64_t end = offset + out.size();
  auto piece = pieces_.upper_bound(at);
  if (piece != pieces_.begin()) --piece;
  for (; at < end; ++piece) {
    const bool last = piece == pieces_.end();
    const uint64_t begin = last ? end : std::min(piece->first, end);
    if (begin > at) {
      AddDirect(at, out.subspan(at - offset, begin - at), parts);
      at = begin;
    }
    if (last || at == end) break;
    const uint64_t piece_end = piece->first + piece->second.size;
    if (piece_end <= at) continue;
    const uint64_t size = std::min(piece_end, end) - at;
    piece->second.used = now;
    parts.push_back({piece->second.transfer, at - piece->first,
                     out.subspan(at - offset, size), piece->first});
    at += size;
  }
  return parts;
}

void HttpFile::DropPiece(uint64_t piece) const {
  uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(piece);
    if (found == pieces_.end()) return;
    bytes = found->second.size;
    if (found->second.done) done_bytes_ -= bytes;
    pieces_.erase(found);
  }
  store_->GiveBack(bytes);
}

// Counts bytes of a piece as read. Keeps the pieces that were read last.
void HttpFile::CountRead(uint64_t piece, uint64_t bytes) const {
  uint64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(piece);
    if (found == pieces_.end() || found->second.done) return;
    found->second.read += bytes;
    if (found->second.read < found->second.size) return;
    found->second.done = true;
    done_.push_back(piece);
    done_bytes_ += found->second.size;
    while (done_bytes_ > kDoneBytesMax) dropped += DropOldestDone();
  }
  if (dropped > 0) store_->GiveBack(dropped);
}

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

absl::Status HttpFile::TakePart(const Part& part) const {
  FM_RETURN_IF_ERROR(part.transfer->Wait(part.skip + part.out.size()));
  FM_RETURN_IF_ERROR(CheckSeen(part.transfer->seen()));
  if (!part.piece) return absl::OkStatus();
  part.transfer->CopyTo(part.skip, part.out);
  CountRead(*part.piece, part.out.size());
  return absl::OkStatus();
}

absl::Status HttpFile::TakeParts(std::span<const Part> parts) const {
  std::vector<std::shared_ptr<Transfer>> direct;
  for (const Part& part : parts) {
    if (!part.piece) direct.push_back(part.transfer);
  }
  if (!direct.empty()) {
    FM_RETURN_IF_ERROR(file_.Prepare());
    store_->loop.Start(direct, TransferLoop::Urgency::kAwaited);
  }
  for (const Part& part : parts) {
    const absl::Status status = TakePart(part);
    if (status.ok()) continue;
    if (part.transfer->no_ranges()) {
      const std::lock_guard lock(mutex_);
      has_ranges_ = false;
    }
    // The next read requests it again.
    if (part.piece && !absl::IsCancelled(status)) DropPiece(*part.piece);
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
  {
    const std::lock_guard lock(mutex_);
    has_ranges = has_ranges_;
  }
  if (has_ranges) {
    const absl::Status status = TakeParts(PartsOf(offset, out));
    if (status.ok()) return out.size();
    const std::lock_guard lock(mutex_);
    if (has_ranges_) return status;
  }
  return ReadFromWhole(offset, out);
}

}  // namespace feedmill
