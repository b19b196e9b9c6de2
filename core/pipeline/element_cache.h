#ifndef FEEDMILL_CORE_PIPELINE_ELEMENT_CACHE_H_
#define FEEDMILL_CORE_PIPELINE_ELEMENT_CACHE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/pipeline/cache_memory.h"
#include "core/pipeline/cache_storage.h"
#include "feedmill/element.h"

namespace feedmill {

// Rows of a block, from row `first` on, that were made together.
struct CachedRows {
  KeptRows rows;
  uint64_t first = 0;
  uint64_t count = 0;  // rows of the block, including dropped ones
  // If some were dropped, chunk row r is row first + origins[r] of the block.
  bool dropped = false;
  std::vector<uint32_t> origins;
  bool more = false;  // the block continues after these rows
};

// The output of the steps before a cache, by position.
// In memory: the cache keeps rows until its budget is used, and then adds none.
// There is no eviction, because readers that read the data again and again find
// the same part each time; with LRU they would find nothing.
// On disk and in stores: every few megabytes become a file, and rows are read
// from there.
// Rows found there are not checked yet. StoredReader checks them. If it fails,
// the cache drops the file, and its elements are missing.
//
// Thread-safety: any thread. A call takes one lock for any number of rows, and
// writes files outside the lock.
class ElementCache {
 public:
  // The place of each requested position.
  struct Lookup {
    static constexpr uint32_t kMissing = 0xFFFFFFFF;
    static constexpr uint32_t kDropped =
        0xFFFFFFFE;  // the position made no element
    struct Row {
      uint32_t chunk = 0;  // index into `chunks`
      uint32_t row = kMissing;
    };
    std::vector<Row> rows;
    std::vector<KeptRows> chunks;
  };

  // `storage`: null for a cache in memory; otherwise `memory_bytes` is ignored.
  // `memory`, of all caches of the process, must outlive this one.
  ElementCache(size_t memory_bytes, std::unique_ptr<CacheStorage> storage,
               CacheMemory& memory = CacheMemory::Unbounded());
  ~ElementCache();
  ElementCache(const ElementCache&) = delete;
  ElementCache& operator=(const ElementCache&) = delete;

  // ---- positions that make at most one element
  void Find(std::span<const uint64_t> positions, Lookup& out) const;
  // Keeps the elements of `positions`. If `dropped`, chunk row r belongs to
  // positions[origins[r]], and the other positions made no element.
  void Add(std::span<const uint64_t> positions,
           std::span<const uint32_t> origins, bool dropped, const Chunk& chunk);

  // ---- positions that are blocks of many elements
  std::optional<CachedRows> FindRows(uint64_t position, uint64_t row) const;
  // REQUIRES: the rows are in memory.
  void AddRows(uint64_t position, const CachedRows& rows);

  // ---- caches on disk or in a store
  // Finds files that other processes have written since the last call.
  void ReadNew();
  // Writes all pending rows, and makes them visible to other processes.
  void Flush();
  // Reports that reading `rows` failed with `why`. DataLoss and NotFound drop
  // the file: none of its rows are found any more. Any other error is only
  // reported, because it may not occur again. After such an error of a store,
  // no stored rows are found before the next ReadNew.
  void ReadFailed(const StoredRows& rows, const absl::Status& why);

  // Bytes of all rows in memory.
  size_t bytes() const;

 private:
  static constexpr size_t kPageEntries = 512;
  // An entry is (number of the rows + 1) << 16 | row, or kDroppedEntry; 0:
  // missing.
  using Page = std::array<uint64_t, kPageEntries>;

  // The methods from here to WriteIfEnough need the lock.
  bool HasRoom(size_t bytes) const;
  // True if rows `number` are in memory, or in a file that can be read and was
  // not dropped.
  bool Usable(uint64_t number) const;
  bool UsableEntry(uint64_t entry) const;
  // True if another thread has added all of `positions` already.
  bool Has(std::span<const uint64_t> positions) const;
  // Adds the positions that are missing. Returns the number of the segment.
  uint64_t Insert(CacheSegment segment);
  // Adds a segment in memory of `bytes`, and writes it when enough is pending.
  void InsertKept(std::unique_lock<std::shared_mutex> lock,
                  CacheSegment segment, size_t bytes,
                  ReservedCacheBytes& reserved);
  void WriteFailed(const absl::Status& why);
  void WriteIfEnough(std::unique_lock<std::shared_mutex> lock, size_t enough);

  const size_t memory_bytes_;
  CacheMemory& memory_;
  mutable std::shared_mutex mutex_;
  size_t bytes_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::deque<CacheSegment> kept_;  // by number: rows that were made together
  // By position and first row: the number.
  std::unordered_map<uint64_t, std::map<uint64_t, uint64_t>> blocks_;

  const std::unique_ptr<CacheStorage> storage_;
  bool writes_ = true;             // false after a write has failed
  bool reads_ = true;              // false after a read of a store has failed
  std::vector<uint64_t> pending_;  // numbers of segments to write
  size_t pending_bytes_ = 0;
};

// Returns this process's cache of that key. All callers share it while it is
// open. An unused cache is kept for later callers while there is room. All
// caches together keep at most half of AvailableMemory() (process_quota.h).
// `path`: folder of a cache on disk, or its URL in a store; empty for a cache
// in memory.
std::shared_ptr<ElementCache> OpenElementCache(
    const std::string& key, const std::string& path, size_t memory_bytes,
    const std::shared_ptr<const ElementSpec>& spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ELEMENT_CACHE_H_
