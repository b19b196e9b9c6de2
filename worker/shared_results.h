#ifndef FEEDMILL_WORKER_SHARED_RESULTS_H_
#define FEEDMILL_WORKER_SHARED_RESULTS_H_

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

// A piece in a worker's memory. `used` and, unless null, `used_by_job` count
// its bytes once, until the last holder of the piece or of a part of it is
// gone. The bytes of a state count, too. `used` must outlive both.
struct BufferedPiece {
  BufferedPiece(uint64_t& used, std::shared_ptr<uint64_t> used_by_job,
                Piece piece, std::shared_ptr<const PackedParts> packed,
                StepCosts costs);
  // The part of `whole` at or after `from`; both share buffers.
  BufferedPiece(std::shared_ptr<const BufferedPiece> whole, Cursor from);
  // Another part of `whole` that shares its buffers.
  BufferedPiece(std::shared_ptr<const BufferedPiece> whole, Piece part);
  ~BufferedPiece();
  BufferedPiece(const BufferedPiece&) = delete;
  BufferedPiece& operator=(const BufferedPiece&) = delete;

  // Null: this piece is whole.
  const std::shared_ptr<const BufferedPiece> whole;
  Piece piece;
  std::shared_ptr<const PackedParts> packed;  // of the piece, or null
  StepCosts costs;       // of the whole piece; null if not requested
  const uint64_t bytes;  // as credit counts them
  // When it was made; infinite past: not traced.
  absl::Time at = absl::InfinitePast();

 private:
  const uint64_t held_;   // bytes, and the bytes of its state
  uint64_t* const used_;  // null: counted by the whole piece
  const std::shared_ptr<uint64_t> used_by_job_;
};
using BufferedPiecePtr = std::shared_ptr<BufferedPiece>;

// Cache of pieces that the leases of several ranks share. The first rank that
// needs a piece has it computed. The piece is kept until all ranks have been
// sent it, memory is needed (DropIdle) or it is too old (DropOlder). A rank
// that comes later has it computed again, with the same result.
//
// Pieces of one key never overlap. Thread: its agent's.
class SharedResults {
 public:
  struct Key {
    PlanId plan;
    LinkCompression compression = LinkCompression::kNone;
    uint64_t ranks = 0;
    friend bool operator==(const Key&, const Key&) = default;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    Cursor begin;
    Cursor end;
    TaskId task;              // computes it
    BufferedPiecePtr made{};  // null: being computed
  };

  // Returns the piece at `cursor`, present or being computed; nullopt if none.
  std::optional<Entry> Find(const Key& key, Cursor cursor) const;
  // Returns the beginning of the first piece after `cursor`.
  std::optional<Cursor> NextAfter(const Key& key, Cursor cursor) const;

  // A task computes [begin, end). REQUIRES: nothing of it is here.
  void Begin(const Key& key, Cursor begin, Cursor end, TaskId task);
  // Stores the task's result for `ranks` ranks. No effect if the entry was
  // forgotten meanwhile.
  void Keep(absl::Time now, const Key& key, TaskId task, BufferedPiecePtr made,
            uint64_t ranks);
  // Ends a task whose result is not kept.
  void Abandon(const Key& key, Cursor begin, TaskId task);
  // Records that one more rank was sent the piece at `cursor`.
  void Took(const Key& key, Cursor cursor);

  // Drops the oldest piece that has no other holder; false if there is none.
  bool DropIdle();
  // Drops pieces computed before `time`.
  void DropOlder(absl::Time time);
  void Forget(const PlanId& plan);

  size_t kept() const { return order_.size(); }

 private:
  struct SharedResult {
    Entry entry;
    uint64_t wanted = 0;  // ranks that still need it
    uint64_t number = 0;  // key in order_, once it is computed
    absl::Time since{};
  };
  using Row = std::map<Cursor, SharedResult>;

  void Drop(std::map<Key, Row>::iterator row, Row::iterator place);
  void DropNumber(uint64_t number);

  std::map<Key, Row> rows_;
  // Computed pieces, the oldest first.
  std::map<uint64_t, std::pair<Key, Cursor>> order_;
  uint64_t last_number_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_SHARED_RESULTS_H_
