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

#include "core/pipeline/cache_folder.h"
#include "feedmill/chunk.h"

namespace feedmill {

// The rows of a block, from `first` on, that were made together.
struct CachedRows {
  KeptRows rows;
  uint64_t first = 0;
  uint64_t count = 0;  // of the block's rows, the dropped ones too
  // If some were dropped, which of the count the chunk's rows are.
  bool dropped = false;
  std::vector<uint32_t> origins;
  bool more = false;  // the block goes on behind them
};

// What the steps before a cache made, by position.
// In memory, as far as the budget goes: what is there stays there, what does
// not fit any more is not kept. So readers that go round find the same part of
// it again, where the newest in place of the oldest would leave them nothing.
// Or on disk: some megabytes at a time become a file, and are read from there.
// Those that are found there are not checked yet: StoredReader does, and a file
// for which it fails is dropped here, so that its elements are missing.
//
// Thread-safety: any thread; a call takes one lock, however many rows it is
// about, and writes outside it.
class ElementCache {
 public:
  // Where each of the positions asked for is.
  struct Found {
    static constexpr uint32_t kMissing = 0xFFFFFFFF;
    static constexpr uint32_t kDropped = 0xFFFFFFFE;  // it made no element
    struct Place {
      uint32_t chunk = 0;  // in `chunks`
      uint32_t row = kMissing;
    };
    std::vector<Place> places;
    std::vector<KeptRows> chunks;
  };

  // `folder`: null for one in memory; else `memory_bytes` is not looked at.
  ElementCache(size_t memory_bytes, std::unique_ptr<CacheFolder> folder);
  ElementCache(const ElementCache&) = delete;
  ElementCache& operator=(const ElementCache&) = delete;

  // ---- of positions that make one element at most
  void Find(std::span<const uint64_t> positions, Found& out) const;
  // Keeps what `positions` made: the chunk's rows are of those that `origins`
  // names (empty: of all), the others made nothing.
  void Add(std::span<const uint64_t> positions,
           std::span<const uint32_t> origins, bool dropped, const Chunk& chunk);

  // ---- of positions that are blocks of many
  std::optional<CachedRows> FindRows(uint64_t position, uint64_t row) const;
  // REQUIRES: they are in memory.
  void AddRows(uint64_t position, const CachedRows& rows);

  // ---- of those on disk
  // Finds what other processes have written since.
  void ReadNew();
  // Writes what was not written yet.
  void Flush();
  // After reading them has failed with `why`. DataLoss and NotFound drop their
  // file, of which nothing is found from now on; any other error may not be
  // there the next time, and is reported only.
  void ReadFailed(const StoredRows& rows, const absl::Status& why);

  // Of all that is kept, in memory.
  size_t bytes() const;

 private:
  static constexpr size_t kPageEntries = 512;
  // (number of the rows + 1) << 16 | row; or kDroppedEntry; 0: missing.
  using Page = std::array<uint64_t, kPageEntries>;

  // Under the lock: whether that much more may be kept, and takes it.
  bool Take(size_t bytes);
  bool HasRoom(size_t bytes) const;
  // … whether the number names rows of a file that was not dropped.
  bool Usable(uint64_t number) const;
  bool UsableEntry(uint64_t entry) const;
  // … whether another thread was faster.
  bool Has(std::span<const uint64_t> positions) const;
  // … adds what is not there yet. Returns its number.
  uint64_t Insert(CacheSegment segment);
  void WriteIfEnough(std::unique_lock<std::shared_mutex> lock, size_t enough);

  const size_t memory_bytes_;
  mutable std::shared_mutex mutex_;
  size_t bytes_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::deque<CacheSegment> kept_;  // by number: rows that were made together
  // By position, and then by first row: the number.
  std::unordered_map<uint64_t, std::map<uint64_t, uint64_t>> blocks_;

  const std::unique_ptr<CacheFolder> folder_;
  bool writes_ = true;             // it can be written
  std::vector<uint64_t> pending_;  // numbers of what is not written yet
  size_t pending_bytes_ = 0;
};

// This process's cache of that key: one for all that open it at the same time,
// and, while there is room for what nobody uses, for those that do so later.
// `path`: of a folder, for one on disk; else empty.
std::shared_ptr<ElementCache> OpenElementCache(
    const std::string& key, const std::string& path, size_t memory_bytes,
    const std::shared_ptr<const ElementSpec>& spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ELEMENT_CACHE_H_
