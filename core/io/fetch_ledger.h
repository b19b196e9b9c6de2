#ifndef FEEDMILL_CORE_IO_FETCH_LEDGER_H_
#define FEEDMILL_CORE_IO_FETCH_LEDGER_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/io/random_access_file.h"
#include "core/io/range_plan.h"

namespace feedmill {

// Memory for the prefetched bytes of many files. Any thread.
class PrefetchMemory {
 public:
  explicit PrefetchMemory(uint64_t limit) : limit_(limit) {}

  // Reserves `bytes`. Returns false if they are not free. Return the bytes with
  // GiveBack.
  bool Take(uint64_t bytes) {
    uint64_t taken = taken_;
    do {
      if (taken + bytes > limit_) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes));
    return true;
  }
  void GiveBack(uint64_t bytes) { taken_ -= bytes; }
  uint64_t Left() const { return limit_ - taken_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> taken_ = 0;
};

// The prefetches of a file: ranges, each with a `Fetch` that receives the
// bytes. They do not overlap. Not thread-safe.
template <class Fetch>
class FetchLedger {
 public:
  // A part of a read.
  struct Part {
    uint64_t offset = 0;  // in the file
    std::span<std::byte> out{};
    std::optional<uint64_t> prefetch{};  // its offset; nullopt: none
    std::shared_ptr<Fetch> fetch{};      // of the prefetch

    // Bytes of the fetch before the part.
    uint64_t skip() const { return prefetch ? offset - *prefetch : 0; }
  };

  // `memory` outlives the ledger. Prefetches that were read are kept, up to
  // `read_bytes_max` of them, because a reader may return to them.
  FetchLedger(PrefetchMemory& memory, uint64_t read_bytes_max)
      : memory_(memory), read_bytes_max_(read_bytes_max) {}
  ~FetchLedger() {
    DropIf([](const Prefetch&) { return true; });
  }
  FetchLedger(const FetchLedger&) = delete;
  FetchLedger& operator=(const FetchLedger&) = delete;

  // Appends the parts of a range that no prefetch has.
  void AddMissing(const ByteRange& range,
                  std::vector<ByteRange>& missing) const {
    ForEachPart(range, [&](const ByteRange& part, Place prefetch) {
      if (prefetch == prefetches_.end()) missing.push_back(part);
    });
  }

  // Makes a prefetch of a range by calling begin(range). Returns false if there
  // is no memory. REQUIRES: no prefetch has a byte of the range.
  template <class Begin>
  bool Add(const ByteRange& range, absl::Time now, const Begin& begin) {
    if (!memory_.Take(range.size)) return false;
    prefetches_[range.offset] = {begin(range), range.size, 0, now};
    return true;
  }

  // Divides a read. Parts that no prefetch has are at most `part_bytes` long.
  std::vector<Part> PartsOf(uint64_t offset, std::span<std::byte> out,
                            uint64_t part_bytes, absl::Time now) {
    std::vector<Part> parts;
    ForEachPart({offset, out.size()}, [&](const ByteRange& range,
                                          Place prefetch) {
      const auto own = out.subspan(range.offset - offset, range.size);
      if (prefetch != prefetches_.end()) {
        prefetches_[prefetch->first].used = now;
        parts.push_back(
            {range.offset, own, prefetch->first, prefetch->second.fetch});
        return;
      }
      for (const ByteRange& each : SplitRange(range, part_bytes)) {
        parts.push_back(
            {each.offset, own.subspan(each.offset - range.offset, each.size)});
      }
    });
    return parts;
  }

  // Counts a part as read.
  void CountRead(const Part& part) {
    const auto prefetch = Find(part);
    if (prefetch == prefetches_.end() || prefetch->second.done()) return;
    prefetch->second.read += part.out.size();
    if (!prefetch->second.done()) return;
    done_.push_back(prefetch->first);
    done_bytes_ += prefetch->second.size;
    while (done_bytes_ > read_bytes_max_) {
      Drop(prefetches_.find(done_.front()));
      done_.pop_front();
    }
  }

  // Drops the prefetch of a part whose fetch has failed: the next read fetches
  // it again.
  void DropFailed(const Part& part) {
    const auto prefetch = Find(part);
    if (prefetch == prefetches_.end()) return;
    if (prefetch->second.done()) std::erase(done_, prefetch->first);
    Drop(prefetch);
  }

  // Drops prefetches that were read. Also those that were neither announced nor
  // read since `before`, unless their fetches run.
  void DropUnneeded(absl::Time before) {
    DropIf([&](const Prefetch& prefetch) {
      return prefetch.done() ||
             (prefetch.used < before && prefetch.fetch.use_count() == 1);
    });
  }

  // Drops prefetches of which bytes were read: those between ranges that share
  // a fetch are never read.
  void DropPartlyRead() {
    DropIf([](const Prefetch& prefetch) { return prefetch.read > 0; });
  }

  // Calls fetch.Abandon() for each prefetch. Returns false if there is none.
  bool AbandonAll() const {
    for (const auto& [offset, prefetch] : prefetches_)
      prefetch.fetch->Abandon();
    return !prefetches_.empty();
  }

 private:
  struct Prefetch {
    std::shared_ptr<Fetch> fetch;
    uint64_t size = 0;
    uint64_t read = 0;  // bytes read so far
    absl::Time used{};  // time it was last announced or read

    bool done() const { return read >= size; }
  };
  using Prefetches = std::map<uint64_t, Prefetch>;
  using Place = typename Prefetches::const_iterator;

  // Calls take(part, prefetch) for the parts of a range in order. `prefetch`
  // has the part; prefetches_.end(): none has it.
  template <class Take>
  void ForEachPart(const ByteRange& range, const Take& take) const {
    uint64_t at = range.offset;
    const uint64_t end = range.offset + range.size;
    Place prefetch = prefetches_.upper_bound(at);
    if (prefetch != prefetches_.begin()) --prefetch;
    for (; at < end; ++prefetch) {
      const bool last = prefetch == prefetches_.end();
      const uint64_t begin = last ? end : std::min(prefetch->first, end);
      if (begin > at) {
        take(ByteRange{at, begin - at}, prefetches_.end());
        at = begin;
      }
      if (last || at == end) return;
      const uint64_t prefetch_end =
          std::min(prefetch->first + prefetch->second.size, end);
      if (prefetch_end <= at) continue;
      take(ByteRange{at, prefetch_end - at}, prefetch);
      at = prefetch_end;
    }
  }

  typename Prefetches::iterator Find(const Part& part) {
    if (!part.prefetch) return prefetches_.end();
    const auto found = prefetches_.find(*part.prefetch);
    const bool same =
        found != prefetches_.end() && found->second.fetch == part.fetch;
    return same ? found : prefetches_.end();
  }

  void Drop(typename Prefetches::iterator prefetch) {
    memory_.GiveBack(prefetch->second.size);
    if (prefetch->second.done()) done_bytes_ -= prefetch->second.size;
    prefetches_.erase(prefetch);
  }

  template <class Unneeded>
  void DropIf(const Unneeded& unneeded) {
    for (auto prefetch = prefetches_.begin(); prefetch != prefetches_.end();) {
      const auto next = std::next(prefetch);
      if (unneeded(prefetch->second)) Drop(prefetch);
      prefetch = next;
    }
    std::erase_if(done_, [this](uint64_t offset) {
      return !prefetches_.contains(offset);
    });
  }

  PrefetchMemory& memory_;
  const uint64_t read_bytes_max_;
  Prefetches prefetches_;  // by offset
  // Prefetches that were read completely, oldest first.
  std::deque<uint64_t> done_;
  uint64_t done_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FETCH_LEDGER_H_
