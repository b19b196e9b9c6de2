#include "plugins/arrow/cloud_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/io/range_plan.h"

namespace feedmill {
namespace {

constexpr uint64_t kAheadBytes = uint64_t{64} << 20;
// Larger ranges are fetched with several requests.
constexpr uint64_t kFetchBytes = uint64_t{4} << 20;
// A short range that was not announced is fetched with its surroundings.
constexpr uint64_t kReadAround = uint64_t{64} << 10;
// Announced ranges closer than this share a request.
constexpr uint64_t kJoinGap = uint64_t{256} << 10;
// Prefetched bytes of all files together.
constexpr uint64_t kMemoryBytes = uint64_t{256} << 20;
// Bytes of a file kept after they were read: a shuffle may return to them.
constexpr uint64_t kDoneBytesMax = uint64_t{32} << 20;

std::atomic<uint64_t> g_ahead_bytes = 0;

bool Take(uint64_t bytes) {
  uint64_t taken = g_ahead_bytes;
  do {
    if (taken + bytes > kMemoryBytes) return false;
  } while (!g_ahead_bytes.compare_exchange_weak(taken, taken + bytes));
  return true;
}

}  // namespace

CloudFile::CloudFile(std::shared_ptr<CloudObject> object)
    : RandomAccessFile(object->name()), object_(std::move(object)) {}

CloudFile::~CloudFile() {
  for (const auto& [offset, piece] : pieces_) g_ahead_bytes -= piece.size;
}

uint64_t CloudFile::ahead_bytes() const { return kAheadBytes; }

// Caller holds mutex_.
void CloudFile::Drop(std::map<uint64_t, Piece>::iterator piece) const {
  g_ahead_bytes -= piece->second.size;
  if (piece->second.read >= piece->second.size) {
    done_bytes_ -= piece->second.size;
  }
  pieces_.erase(piece);
}

// Caller holds mutex_. Drops partly read pieces: bytes between ranges that
// share a request are never read.
void CloudFile::DropRead() const {
  for (auto piece = pieces_.begin(); piece != pieces_.end();) {
    const auto next = std::next(piece);
    if (piece->second.read > 0) Drop(piece);
    piece = next;
  }
}

// Caller holds mutex_. Starts to fetch the parts of a range that no piece has.
void CloudFile::AddPieces(const ByteRange& range) const {
  uint64_t at = range.offset;
  const uint64_t end = range.offset + range.size;
  while (at < end) {
    const auto next = pieces_.upper_bound(at);
    if (next != pieces_.begin()) {
      const auto before = std::prev(next);
      const uint64_t covered = before->first + before->second.size;
      if (covered > at) {
        at = covered;
        continue;
      }
    }
    uint64_t size = std::min(end - at, kFetchBytes);
    if (next != pieces_.end()) size = std::min(size, next->first - at);
    if (!Take(size)) {
      DropRead();
      if (!Take(size)) return;
    }
    pieces_[at] = {.size = size, .fetch = object_->Begin({at, size})};
    at += size;
  }
}

void CloudFile::Prefetch(std::span<const ByteRange> ranges) const {
  const uint64_t size = object_->identity().size;
  const std::vector<ByteRange> joined = JoinRanges(ranges, kJoinGap, size);
  const std::lock_guard lock(mutex_);
  for (const ByteRange& range : joined) AddPieces(range);
}

void CloudFile::AddDirect(uint64_t offset, std::span<std::byte> out,
                          std::vector<Part>& parts) const {
  for (size_t at = 0; at < out.size();) {
    const size_t size = std::min<size_t>(out.size() - at, kFetchBytes);
    const ByteRange range{offset + at, size};
    parts.push_back(
        {range, 0, out.subspan(at, size), object_->Begin(range), false});
    at += size;
  }
}

std::vector<CloudFile::Part> CloudFile::PartsOf(
    uint64_t offset, std::span<std::byte> out) const {
  std::vector<Part> parts;
  const std::lock_guard lock(mutex_);
  uint64_t at = offset;
  const uint64_t end = offset + out.size();
  if (out.size() < kReadAround) {
    const uint64_t begin = offset / kReadAround * kReadAround;
    const uint64_t around = (end + kReadAround - 1) / kReadAround * kReadAround;
    AddPieces({begin, std::min(around, object_->identity().size) - begin});
  }
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
    parts.push_back({{piece->first, piece->second.size},
                     at - piece->first,
                     out.subspan(at - offset, size),
                     piece->second.fetch,
                     true});
    at += size;
  }
  return parts;
}

void CloudFile::CountRead(const Part& part, bool failed) const {
  if (!part.is_piece) return;
  const std::lock_guard lock(mutex_);
  const auto piece = pieces_.find(part.range.offset);
  if (piece == pieces_.end() || piece->second.fetch != part.fetch) return;
  // The next read requests it again.
  if (failed) return Drop(piece);
  const bool was_done = piece->second.read >= piece->second.size;
  piece->second.read += part.out.size();
  if (was_done || piece->second.read < piece->second.size) return;
  done_.push_back(piece->first);
  done_bytes_ += piece->second.size;
  while (done_bytes_ > kDoneBytesMax && !done_.empty()) {
    const auto oldest = pieces_.find(done_.front());
    done_.pop_front();
    if (oldest != pieces_.end() && oldest->second.read >= oldest->second.size) {
      Drop(oldest);
    }
  }
}

absl::StatusOr<size_t> CloudFile::Read(uint64_t offset,
                                       std::span<std::byte> out) const {
  const uint64_t file_size = object_->identity().size;
  if (offset >= file_size || out.empty()) return size_t{0};
  out = out.first(std::min<uint64_t>(out.size(), file_size - offset));
  for (const Part& part : PartsOf(offset, out)) {
    const auto buffer = part.fetch->Wait();
    CountRead(part, !buffer.ok() && !absl::IsCancelled(buffer.status()));
    FM_RETURN_IF_ERROR(buffer.status());
    std::memcpy(part.out.data(), (*buffer)->data() + part.skip,
                part.out.size());
  }
  return out.size();
}

}  // namespace feedmill
