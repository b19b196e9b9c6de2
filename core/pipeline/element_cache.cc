#include "core/pipeline/element_cache.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "core/base/cache_faults.h"
#include "core/base/check.h"
#include "core/base/status.h"
#include "core/io/file_systems.h"
#include "core/pipeline/cache_folder.h"
#include "core/pipeline/cache_objects.h"
#include "core/process/process_quota.h"

namespace feedmill {
namespace {

constexpr uint64_t kDroppedEntry = ~uint64_t{0};
constexpr unsigned kRowBits = 16;
// Most bytes of unused caches, over all caches of the process.
constexpr size_t kUnusedBytesMax = size_t{1} << 30;
// Part of the memory that the process may use, for all of its caches.
constexpr uint64_t kMemoryPart = 2;

size_t BytesOf(const Chunk& chunk) {
  size_t bytes = sizeof(Chunk);
  for (const Column& column : chunk.columns) {
    bytes += sizeof(Column) + column.shape.capacity() * sizeof(int64_t);
    for (const Buffer* const buffer :
         {&column.values, &column.offsets, &column.row_shapes,
          &column.row_starts}) {
      // Adds the buffer's control block and malloc's overhead.
      if (buffer->size() > 0) bytes += buffer->size() + kBufferAlignment + 64;
    }
  }
  return bytes;
}

// Copies the chunk into memory of exactly its size, because buffers from
// builders and reads have unused capacity.
std::shared_ptr<const Chunk> Packed(const Chunk& chunk) {
  auto packed = std::make_shared<Chunk>(chunk);
  for (Column& column : packed->columns) {
    for (Buffer* const buffer : {&column.values, &column.offsets,
                                 &column.row_shapes, &column.row_starts}) {
      if (buffer->size() > 0) *buffer = Buffer::CopyOf(buffer->span());
    }
  }
  return packed;
}

// Returns the most pages that entries of `positions` are in.
size_t PagesOf(std::span<const uint64_t> positions, size_t page_entries) {
  size_t pages = 1;
  for (size_t k = 1; k < positions.size(); ++k) {
    pages += positions[k] / page_entries != positions[k - 1] / page_entries;
  }
  return pages;
}

// Drops the fields that only finding and writing the rows need.
void KeepRowsOnly(CacheSegment& segment) {
  segment.positions = {};
  if (!segment.block) segment.origins = {};
}

}  // namespace

ElementCache::ElementCache(size_t memory_bytes,
                           std::unique_ptr<CacheStorage> storage,
                           CacheMemory& memory)
    : memory_bytes_(storage == nullptr ? memory_bytes : SIZE_MAX),
      memory_(memory),
      storage_(std::move(storage)) {}

ElementCache::~ElementCache() { memory_.Return(bytes_); }

size_t ElementCache::bytes() const {
  const std::shared_lock lock(mutex_);
  return bytes_;
}

bool ElementCache::HasRoom(size_t bytes) const {
  return writes_ && bytes <= memory_bytes_ - bytes_;
}

bool ElementCache::Usable(uint64_t number) const {
  const KeptRows& rows = kept_[number].rows;
  return rows.usable() && (reads_ || rows.chunk != nullptr);
}

bool ElementCache::UsableEntry(uint64_t entry) const {
  return entry == kDroppedEntry ||
         (entry != 0 && Usable((entry >> kRowBits) - 1));
}

bool ElementCache::Has(std::span<const uint64_t> positions) const {
  return std::all_of(
      positions.begin(), positions.end(), [this](uint64_t position) {
        const auto page = pages_.find(position / kPageEntries);
        return page != pages_.end() &&
               UsableEntry((*page->second)[position % kPageEntries]);
      });
}

void ElementCache::Find(std::span<const uint64_t> positions,
                        Lookup& out) const {
  out.rows.assign(positions.size(), {});
  out.chunks.clear();
  const std::shared_lock lock(mutex_);
  const Page* page = nullptr;
  uint64_t page_number = ~uint64_t{0};
  uint64_t number = ~uint64_t{0};
  bool usable = false;
  for (size_t k = 0; k < positions.size(); ++k) {
    if (positions[k] / kPageEntries != page_number) {
      page_number = positions[k] / kPageEntries;
      const auto found = pages_.find(page_number);
      page = found == pages_.end() ? nullptr : found->second.get();
    }
    if (page == nullptr) continue;
    const uint64_t entry = (*page)[positions[k] % kPageEntries];
    if (entry == 0) continue;
    if (entry == kDroppedEntry) {
      out.rows[k].row = Lookup::kDropped;
      continue;
    }
    if ((entry >> kRowBits) - 1 != number) {
      number = (entry >> kRowBits) - 1;
      usable = Usable(number);
      if (usable) out.chunks.push_back(kept_[number].rows);
    }
    if (!usable) continue;
    out.rows[k] = {
        static_cast<uint32_t>(out.chunks.size() - 1),
        static_cast<uint32_t>(entry & ((uint64_t{1} << kRowBits) - 1))};
  }
}

uint64_t ElementCache::Insert(CacheSegment segment) {
  const uint64_t number = kept_.size();
  if (segment.block) {
    blocks_[segment.positions[0]][segment.first] = number;
  }
  size_t row = 0;
  for (size_t k = 0; !segment.block && k < segment.positions.size(); ++k) {
    const uint64_t position = segment.positions[k];
    std::unique_ptr<Page>& page = pages_[position / kPageEntries];
    if (page == nullptr) {
      page = std::make_unique<Page>();
      bytes_ += sizeof(Page);
    }
    const bool there = !segment.dropped || (row < segment.origins.size() &&
                                            segment.origins[row] == k);
    (*page)[position % kPageEntries] =
        there ? (number + 1) << kRowBits | row++ : kDroppedEntry;
  }
  // Segments that still have to be written keep all fields.
  if (storage_ == nullptr || segment.rows.stored != nullptr) {
    KeepRowsOnly(segment);
  }
  kept_.push_back(std::move(segment));
  return number;
}

void ElementCache::Add(std::span<const uint64_t> positions,
                       std::span<const uint32_t> origins, bool dropped,
                       const Chunk& chunk) {
  FM_CHECK(chunk.rows < (size_t{1} << kRowBits));
  const size_t bytes = BytesOf(chunk) + sizeof(CacheSegment);
  const size_t most = bytes + PagesOf(positions, kPageEntries) * sizeof(Page);
  {
    // The chunk is copied outside the lock, and only if there is room for it.
    const std::shared_lock lock(mutex_);
    if (!HasRoom(most)) return;
  }
  ReservedCacheBytes reserved(memory_, most);
  if (!reserved.ok()) return;
  CacheSegment segment;
  segment.positions.assign(positions.begin(), positions.end());
  segment.dropped = dropped;
  segment.origins.assign(origins.begin(), origins.end());
  segment.rows.chunk = Packed(chunk);
  std::unique_lock lock(mutex_);
  if (Has(positions) || !HasRoom(most)) return;
  InsertKept(std::move(lock), std::move(segment), bytes, reserved);
}

void ElementCache::InsertKept(std::unique_lock<std::shared_mutex> lock,
                              CacheSegment segment, size_t bytes,
                              ReservedCacheBytes& reserved) {
  const size_t before = bytes_;
  bytes_ += bytes;
  const uint64_t number = Insert(std::move(segment));
  reserved.Keep(bytes_ - before);
  if (storage_ == nullptr) return;
  pending_.push_back(number);
  pending_bytes_ += bytes;
  WriteIfEnough(std::move(lock), storage_->file_bytes());
}

std::optional<CachedRows> ElementCache::FindRows(uint64_t position,
                                                 uint64_t row) const {
  const std::shared_lock lock(mutex_);
  const auto block = blocks_.find(position);
  if (block == blocks_.end()) return std::nullopt;
  const auto after = block->second.upper_bound(row);
  if (after == block->second.begin()) return std::nullopt;
  const uint64_t number = std::prev(after)->second;
  const CacheSegment& rows = kept_[number];
  // Beyond the last row of a block, there is known to be no row.
  if (row - rows.first >= rows.count && rows.more) return std::nullopt;
  if (!Usable(number)) return std::nullopt;
  return CachedRows{rows.rows,    rows.first,   rows.count,
                    rows.dropped, rows.origins, rows.more};
}

void ElementCache::AddRows(uint64_t position, const CachedRows& rows) {
  const size_t bytes = BytesOf(*rows.rows.chunk) + sizeof(CacheSegment) + 64 +
                       rows.origins.size() * sizeof(uint32_t);
  {
    const std::shared_lock lock(mutex_);
    if (!HasRoom(bytes)) return;
  }
  ReservedCacheBytes reserved(memory_, bytes);
  if (!reserved.ok()) return;
  CacheSegment segment;
  segment.block = true;
  segment.positions = {position};
  segment.first = rows.first;
  segment.count = rows.count;
  segment.more = rows.more;
  segment.dropped = rows.dropped;
  segment.origins = rows.origins;
  segment.rows.chunk = Packed(*rows.rows.chunk);
  std::unique_lock lock(mutex_);
  const auto& block = blocks_[position];
  const auto there = block.find(rows.first);
  if (there != block.end() && Usable(there->second)) return;
  if (!HasRoom(bytes)) return;
  InsertKept(std::move(lock), std::move(segment), bytes, reserved);
}

void ElementCache::ReadNew() {
  if (storage_ == nullptr) return;
  std::vector<CacheSegment> segments = storage_->ReadNew();
  {
    const std::unique_lock lock(mutex_);
    if (storage_->is_remote()) reads_ = writes_ = true;
  }
  // Elements of which the places find no room are made again.
  for (CacheSegment& segment : segments) {
    const size_t pages =
        segment.block ? 0 : PagesOf(segment.positions, kPageEntries);
    ReservedCacheBytes reserved(memory_,
                                sizeof(CacheSegment) + pages * sizeof(Page));
    if (!reserved.ok()) return;
    const std::unique_lock lock(mutex_);
    const size_t before = bytes_;
    bytes_ += sizeof(CacheSegment);
    Insert(std::move(segment));
    reserved.Keep(bytes_ - before);
  }
}

void ElementCache::ReadFailed(const StoredRows& rows, const absl::Status& why) {
  if (!absl::IsDataLoss(why) && !absl::IsNotFound(why)) {
    storage_->Warn(rows.file->path(), ErrorText(why));
    if (!storage_->is_remote()) return;
    const std::unique_lock lock(mutex_);
    reads_ = false;
    return;
  }
  if (!storage_->Drop(*rows.file, why)) return;
  // A dropped entry would hide an earlier entry that reaches as far.
  const std::unique_lock lock(mutex_);
  for (auto& [position, block] : blocks_) {
    std::erase_if(block,
                  [this](const auto& entry) { return !Usable(entry.second); });
  }
}

void ElementCache::Flush() {
  if (storage_ == nullptr) return;
  WriteIfEnough(std::unique_lock(mutex_), 1);
  if (absl::Status status = storage_->Commit(); !status.ok()) {
    WriteFailed(status);
  }
}

// Rows in memory remain, but no more are kept.
void ElementCache::WriteFailed(const absl::Status& why) {
  {
    const std::unique_lock lock(mutex_);
    if (!std::exchange(writes_, false)) return;
  }
  storage_->Warn(storage_->path(), ErrorText(why));
  NoteCacheFault(fmt::format("{}: {}", storage_->path(), ErrorText(why)));
}

void ElementCache::WriteIfEnough(std::unique_lock<std::shared_mutex> lock,
                                 size_t enough) {
  if (pending_bytes_ < enough) return;
  const std::vector<uint64_t> numbers = std::exchange(pending_, {});
  const size_t bytes = std::exchange(pending_bytes_, 0);
  std::vector<CacheSegment> segments;
  for (const uint64_t number : numbers) {
    segments.push_back(kept_[number]);
  }
  lock.unlock();
  auto written = storage_->Write(segments);
  if (!written.ok()) return WriteFailed(written.status());
  lock.lock();
  bytes_ -= bytes;
  memory_.Return(bytes);
  for (size_t k = 0; k < numbers.size(); ++k) {
    kept_[numbers[k]] = std::move((*written)[k]);
    KeepRowsOnly(kept_[numbers[k]]);
  }
}

namespace {

// Returns null for a cache in memory.
std::unique_ptr<CacheStorage> StorageOf(
    const std::string& key, const std::string& path,
    const std::shared_ptr<const ElementSpec>& spec) {
  if (path.empty()) return nullptr;
  if (SchemeOf(path).empty()) {
    return std::make_unique<CacheFolder>(path, key, spec);
  }
  const auto files = FileSystemOf(path);
  FM_CHECK(files.ok());  // MakeCachedInput has checked it
  return std::make_unique<CacheObjects>(**files, path, key, spec);
}

// The caches of this process. Unused caches are kept for a later iteration, the
// next epoch, or another reader of the same data.
class ProcessCaches {
 public:
  std::shared_ptr<ElementCache> Open(
      const std::string& key, const std::string& path, size_t memory_bytes,
      const std::shared_ptr<const ElementSpec>& spec) {
    std::shared_ptr<ElementCache> cache;
    {
      const std::lock_guard lock(mutex_);
      OpenCache& kept = kept_[fmt::format("{} {} {}", key, memory_bytes, path)];
      if (kept.cache == nullptr) {
        kept.cache = std::make_shared<ElementCache>(
            memory_bytes, StorageOf(key, path, spec), memory_);
      }
      kept.opened = ++opened_;
      cache = kept.cache;
    }
    cache->ReadNew();
    return {cache.get(), [this, own = cache](ElementCache*) mutable {
              own->Flush();
              own.reset();
              DropUnused(kUnusedBytesMax);
            }};
  }

 private:
  struct OpenCache {
    std::shared_ptr<ElementCache> cache;
    uint64_t opened = 0;
  };

  // Drops the unused caches that were opened first, while all unused ones have
  // more than `bytes_max`. Returns false if it drops none.
  bool DropUnused(size_t bytes_max) {
    std::vector<std::shared_ptr<ElementCache>>
        dropped;  // destroyed outside the lock
    const std::lock_guard lock(mutex_);
    std::vector<std::map<std::string, OpenCache>::iterator> unused;
    size_t bytes = 0;
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if (it->second.cache.use_count() > 1) continue;
      unused.push_back(it);
      bytes += it->second.cache->bytes();
    }
    std::sort(unused.begin(), unused.end(), [](const auto& a, const auto& b) {
      return a->second.opened < b->second.opened;
    });
    for (const auto& it : unused) {
      if (bytes <= bytes_max) break;
      bytes -= it->second.cache->bytes();
      dropped.push_back(std::move(it->second.cache));
      kept_.erase(it);
    }
    return !dropped.empty();
  }

  CacheMemory memory_{AvailableMemory() / kMemoryPart,
                      [this] { return DropUnused(0); }};
  std::mutex mutex_;
  std::map<std::string, OpenCache> kept_;
  uint64_t opened_ = 0;
};

}  // namespace

std::shared_ptr<ElementCache> OpenElementCache(
    const std::string& key, const std::string& path, size_t memory_bytes,
    const std::shared_ptr<const ElementSpec>& spec) {
  // Never destroyed, because readers may outlive static objects.
  static ProcessCaches& caches = *new ProcessCaches();
  return caches.Open(key, path, memory_bytes, spec);
}

}  // namespace feedmill
