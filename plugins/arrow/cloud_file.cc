#include "plugins/arrow/cloud_file.h"

#include <algorithm>
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

// Never destroyed: files may outlive static objects.
PrefetchMemory& Memory() {
  static PrefetchMemory& memory = *new PrefetchMemory(kMemoryBytes);
  return memory;
}

}  // namespace

CloudFile::CloudFile(std::shared_ptr<CloudObject> object)
    : RandomAccessFile(object->name()),
      object_(std::move(object)),
      ledger_(Memory(), kDoneBytesMax) {}

uint64_t CloudFile::ahead_bytes() const { return kAheadBytes; }

// Caller holds mutex_. Starts to fetch the parts of a range that no prefetch
// has.
void CloudFile::AddPrefetches(const ByteRange& range) const {
  std::vector<ByteRange> missing;
  ledger_.AddMissing(range, missing);
  const auto begin = [this](const ByteRange& each) {
    return object_->Begin(each);
  };
  for (const ByteRange& each : missing) {
    for (const ByteRange& part : SplitRange(each, kFetchBytes)) {
      if (ledger_.Add(part, {}, begin)) continue;
      ledger_.DropPartlyRead();
      if (!ledger_.Add(part, {}, begin)) return;
    }
  }
}

void CloudFile::Prefetch(std::span<const ByteRange> ranges) const {
  const uint64_t size = object_->identity().size;
  const std::vector<ByteRange> joined = JoinRanges(ranges, kJoinGap, size);
  const std::lock_guard lock(mutex_);
  for (const ByteRange& range : joined) AddPrefetches(range);
}

absl::StatusOr<size_t> CloudFile::Read(uint64_t offset,
                                       std::span<std::byte> out) const {
  const uint64_t file_size = object_->identity().size;
  if (offset >= file_size || out.empty()) return size_t{0};
  out = out.first(std::min<uint64_t>(out.size(), file_size - offset));
  std::vector<Ledger::Part> parts;
  {
    const std::lock_guard lock(mutex_);
    if (out.size() < kReadAround) {
      const uint64_t begin = offset / kReadAround * kReadAround;
      const uint64_t end = offset + out.size() + kReadAround - 1;
      AddPrefetches(
          {begin,
           std::min(end / kReadAround * kReadAround, file_size) - begin});
    }
    parts = ledger_.PartsOf(offset, out, kFetchBytes, {});
  }
  for (Ledger::Part& part : parts) {
    if (!part.prefetch)
      part.fetch = object_->Begin({part.offset, part.out.size()});
  }
  for (const Ledger::Part& part : parts) {
    const auto buffer = part.fetch->Wait();
    {
      const std::lock_guard lock(mutex_);
      if (buffer.ok()) {
        ledger_.CountRead(part);
      } else if (!absl::IsCancelled(buffer.status())) {
        ledger_.DropFailed(part);
      }
    }
    FM_RETURN_IF_ERROR(buffer.status());
    std::memcpy(part.out.data(), (*buffer)->data() + part.skip(),
                part.out.size());
  }
  return out.size();
}

}  // namespace feedmill
