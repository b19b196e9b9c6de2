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

// The prefetched ranges of a file. Each is a piece with a `Fetch`, which
// receives the bytes; pieces do not overlap. Not thread-safe.
template <class Fetch>
class FetchLedger {
 public:
  // A part of a read.
  struct Part {
    uint64_t offset = 0;  // in the file
    std::span<std::byte> out{};
    std::optional<uint64_t> piece{};  // its offset; nullopt: no piece has it
    std::shared_ptr<Fetch> fetch{};   // of the piece

    // Bytes of the fetch before the part.
    uint64_t skip() const { return piece ? offset - *piece : 0; }
  };

  // `memory` outlives the ledger. Pieces that were read are kept, up to
  // `read_bytes_max` of them, because a reader may return to them.
  FetchLedger(PrefetchMemory& memory, uint64_t read_bytes_max)
      : memory_(memory), read_bytes_max_(read_bytes_max) {}
  ~FetchLedger() {
    DropIf([](const Piece&) { return true; });
  }
  FetchLedger(const FetchLedger&) = delete;
  FetchLedger& operator=(const FetchLedger&) = delete;

  // Appends the parts of a range that no piece has.
  void AddMissing(const ByteRange& range,
                  std::vector<ByteRange>& missing) const {
    ForEachPart(range, [&](const ByteRange& part, Place piece) {
      if (piece == pieces_.end()) missing.push_back(part);
    });
  }

  // Makes a piece of a range by calling begin(range). Returns false if there is
  // no memory. REQUIRES: no piece has a byte of the range.
  template <class Begin>
  bool Add(const ByteRange& range, absl::Time now, const Begin& begin) {
    if (!memory_.Take(range.size)) return false;
    pieces_[range.offset] = {begin(range), range.size, 0, now};
    return true;
  }

  // Divides a read. Parts that no piece has are at most `part_bytes` long.
  std::vector<Part> PartsOf(uint64_t offset, std::span<std::byte> out,
                            uint64_t part_bytes, absl::Time now) {
    std::vector<Part> parts;
    ForEachPart({offset, out.size()}, [&](const ByteRange& range, Place piece) {
      const auto own = out.subspan(range.offset - offset, range.size);
      if (piece != pieces_.end()) {
        pieces_[piece->first].used = now;
        parts.push_back({range.offset, own, piece->first, piece->second.fetch});
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
    const auto piece = FindPiece(part);
    if (piece == pieces_.end() || piece->second.done()) return;
    piece->second.read += part.out.size();
    if (!piece->second.done()) return;
    done_.push_back(piece->first);
    done_bytes_ += piece->second.size;
    while (done_bytes_ > read_bytes_max_) {
      Drop(pieces_.find(done_.front()));
      done_.pop_front();
    }
  }

  // Drops the piece of a part whose fetch has failed: the next read fetches it
  // again.
  void DropFailed(const Part& part) {
    const auto piece = FindPiece(part);
    if (piece == pieces_.end()) return;
    if (piece->second.done()) std::erase(done_, piece->first);
    Drop(piece);
  }

  // Drops pieces that were read. Also those that were neither announced nor
  // read since `before`, unless their fetches run.
  void DropUnneeded(absl::Time before) {
    DropIf([&](const Piece& piece) {
      return piece.done() ||
             (piece.used < before && piece.fetch.use_count() == 1);
    });
  }

  // Drops pieces of which bytes were read: those between ranges that share a
  // fetch are never read.
  void DropPartlyRead() {
    DropIf([](const Piece& piece) { return piece.read > 0; });
  }

  // Calls fetch.Abandon() for each piece. Returns false if there is none.
  bool AbandonAll() const {
    for (const auto& [offset, piece] : pieces_) piece.fetch->Abandon();
    return !pieces_.empty();
  }

 private:
  struct Piece {
    std::shared_ptr<Fetch> fetch;
    uint64_t size = 0;
    uint64_t read = 0;  // bytes read so far
    absl::Time used{};  // time it was last announced or read

    bool done() const { return read >= size; }
  };
  using Pieces = std::map<uint64_t, Piece>;
  using Place = typename Pieces::const_iterator;

  // Calls take(part, piece) for the parts of a range in order. `piece`: of the
  // part, pieces_.end() if none has it.
  template <class Take>
  void ForEachPart(const ByteRange& range, const Take& take) const {
    uint64_t at = range.offset;
    const uint64_t end = range.offset + range.size;
    Place piece = pieces_.upper_bound(at);
    if (piece != pieces_.begin()) --piece;
    for (; at < end; ++piece) {
      const bool last = piece == pieces_.end();
      const uint64_t begin = last ? end : std::min(piece->first, end);
      if (begin > at) {
        take(ByteRange{at, begin - at}, pieces_.end());
        at = begin;
      }
      if (last || at == end) return;
      const uint64_t piece_end =
          std::min(piece->first + piece->second.size, end);
      if (piece_end <= at) continue;
      take(ByteRange{at, piece_end - at}, piece);
      at = piece_end;
    }
  }

  typename Pieces::iterator FindPiece(const Part& part) {
    if (!part.piece) return pieces_.end();
    const auto found = pieces_.find(*part.piece);
    const bool same =
        found != pieces_.end() && found->second.fetch == part.fetch;
    return same ? found : pieces_.end();
  }

  void Drop(typename Pieces::iterator piece) {
    memory_.GiveBack(piece->second.size);
    if (piece->second.done()) done_bytes_ -= piece->second.size;
    pieces_.erase(piece);
  }

  template <class Unneeded>
  void DropIf(const Unneeded& unneeded) {
    for (auto piece = pieces_.begin(); piece != pieces_.end();) {
      const auto next = std::next(piece);
      if (unneeded(piece->second)) Drop(piece);
      piece = next;
    }
    std::erase_if(
        done_, [this](uint64_t offset) { return !pieces_.contains(offset); });
  }

  PrefetchMemory& memory_;
  const uint64_t read_bytes_max_;
  Pieces pieces_;  // by offset
  // Pieces that were read completely, oldest first.
  std::deque<uint64_t> done_;
  uint64_t done_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FETCH_LEDGER_H_
