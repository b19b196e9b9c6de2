#ifndef FEEDMILL_WORKER_PIECE_SHELF_H_
#define FEEDMILL_WORKER_PIECE_SHELF_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "core/base/strong_id.h"
#include "core/wire/message.h"

namespace feedmill {

using TaskId = StrongId<struct TaskIdTag, uint64_t>;

// A piece in a worker's memory. `used` and, unless it is null, `used_by_job`
// count its bytes once, for as long as anybody holds it or a part that was cut
// from it; `used` must outlive both.
struct Made {
  Made(uint64_t& used, std::shared_ptr<uint64_t> used_by_job, Piece piece,
       std::shared_ptr<const PackedParts> packed, StepCosts costs);
  // The part of `whole` at or after `from`; both share their buffers.
  Made(std::shared_ptr<const Made> whole, Cursor from);
  ~Made();
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  const std::shared_ptr<const Made> whole;  // null: this is
  Piece piece;
  std::shared_ptr<const PackedParts> packed;  // of the piece, or null
  StepCosts costs;       // of the whole; null where nobody asked
  const uint64_t bytes;  // as credit counts them

 private:
  uint64_t* const used_;  // null: the whole is counted
  const std::shared_ptr<uint64_t> used_by_job_;
};
using MadePtr = std::shared_ptr<Made>;

// What the leases of several ranks need alike. The first that needs a piece has
// it made; it is kept for the others until all have had it, memory is needed
// (DropIdle) or it has waited for too long (DropOlder). Who comes then has it
// made again, and gets the same.
//
// Pieces of one key never overlap. Thread: its agent's.
class PieceShelf {
 public:
  struct Key {
    PlanId plan;
    LinkCompression compression = LinkCompression::kNone;
    friend bool operator==(const Key&, const Key&) = default;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    Cursor begin;
    Cursor end;
    TaskId task;     // that makes it
    MadePtr made{};  // null: it is being made
  };

  // What is, or is being, made of the place of `cursor`; nullopt if nothing is.
  std::optional<Entry> Find(const Key& key, Cursor cursor) const;
  // Where the first piece after `cursor` begins.
  std::optional<Cursor> NextAfter(const Key& key, Cursor cursor) const;

  // A task makes [begin, end). REQUIRES: nothing of it is here.
  void Begin(const Key& key, Cursor begin, Cursor end, TaskId task);
  // It has ended with this. `ranks`: how many want it. No effect if what it
  // makes was forgotten meanwhile.
  void Keep(absl::Time now, const Key& key, TaskId task, MadePtr made,
            uint64_t ranks);
  // It has ended with nothing that is worth keeping.
  void Abandon(const Key& key, Cursor begin, TaskId task);
  // One more rank has been sent the piece that `cursor` is in.
  void Took(const Key& key, Cursor cursor);

  // Drops the oldest piece that only the shelf holds; false if there is none.
  bool DropIdle();
  // Drops what was made before `time`.
  void DropOlder(absl::Time time);
  void Forget(const PlanId& plan);

  size_t kept() const { return order_.size(); }

 private:
  struct Place {
    Entry entry;
    uint64_t wanted = 0;  // by so many ranks more
    uint64_t number = 0;  // in order_, once it is made
    absl::Time since{};
  };
  using Row = std::map<Cursor, Place>;

  void Drop(std::map<Key, Row>::iterator row, Row::iterator place);
  void DropNumber(uint64_t number);

  std::map<Key, Row> rows_;
  // Those that are made, the oldest first.
  std::map<uint64_t, std::pair<Key, Cursor>> order_;
  uint64_t last_number_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_PIECE_SHELF_H_
