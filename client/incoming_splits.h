#ifndef FEEDMILL_CLIENT_INCOMING_SPLITS_H_
#define FEEDMILL_CLIENT_INCOMING_SPLITS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/beat_clock.h"
#include "client/credit_window.h"
#include "client/incoming_split.h"
#include "client/known_run.h"
#include "client/session_rules.h"
#include "client/session_settings.h"
#include "core/wire/message.h"

namespace feedmill {

// The splits that are bound to a session, in the order in which they are read,
// with the pieces that arrived and were not pulled. Takes each cursor once,
// from the first attempt that sends it. Pure.
class IncomingSplits {
 public:
  using Map = std::map<SplitId, IncomingSplit>;

  // The references must outlive this object.
  IncomingSplits(const ReadSessionSettings& settings, const SessionRules& rules,
                 const KnownRun& run, CreditWindow& window, BeatClock& clock)
      : settings_(settings),
        rules_(rules),
        run_(run),
        window_(window),
        clock_(clock),
        cursor_(settings.start),
        generator_(settings.state) {}

  // ---- splits
  // Drops the splits that are not in `bound`, and adds new ones. A split that
  // gets a new lease is opened at its worker.
  void Bind(absl::Time now, const std::vector<BoundSplit>& bound);
  // The run is sequenced: begins at its element. REQUIRES: no split yet.
  void BeginSequence(const SequenceStart& start) {
    cursor_ = {0, start.number};
    generator_ = start.state;
  }
  // Drops all splits. The cursor stays.
  void Clear();
  // Null: the split is not bound.
  IncomingSplit* Find(const SplitId& id);
  // The first split that is not idle; null if there is none.
  IncomingSplit* head() { return head_; }
  const IncomingSplit* head() const { return head_; }
  // Iterate over the splits from the head on.
  Map::iterator begin();
  Map::iterator end() { return splits_.end(); }
  // Returns how far each split is.
  std::vector<SplitReport> Report() const;
  // Deterministic order: all elements before it have left the buffers.
  Cursor cursor() const { return cursor_; }
  // Advances the head, and the cursor past positions without elements.
  void Advance();

  // ---- arriving pieces
  // Takes the new elements of a frame, and advances the head. Returns the
  // frame's split; null if the frame changes nothing.
  IncomingSplit* Receive(absl::Time now, Frame frame);
  // Bytes of a worker arrive now; see ReadSession::NoteArriving.
  void NoteArriving(absl::Time now, const WorkerId& worker);
  // Makes the worker of a stream send from the split's next element on.
  void Open(absl::Time now, const IncomingSplit& split, IncomingStream& stream);

  // ---- leaving pieces
  // Returns the split whose piece is pulled next; it may have an error instead.
  // Deterministic order: the head, whose piece may not be there yet. Null if
  // there is none.
  IncomingSplit* NextToPull();
  // Removes the first piece. REQUIRES: the split has one.
  ArrivedPiece Pull(IncomingSplit& split);
  // Deterministic order: moves the cursor to `to`. DropSkipped drops the
  // elements before it that are in splits: they count as taken, and errors
  // before it are ignored.
  void SkipTo(Cursor to) { cursor_ = to; }
  void DropSkipped(absl::Time now);
  // See ReadSession::TakeEmpties.
  std::vector<std::pair<uint64_t, uint64_t>> TakeEmpties() {
    return std::exchange(empties_, {});
  }

 private:
  void Add(const BoundSplit& bound, IncomingSplit& split);
  void Erase(Map::iterator split);
  void TakeLeases(absl::Time now, const BoundSplit& bound,
                  IncomingSplit& split);
  void TakeSkip(absl::Time now, IncomingSplit& split);
  void Buffer(absl::Time now, IncomingSplit& split, Piece piece);
  void NoteTaken(absl::Time now);
  void NoteUse(absl::Time now, uint64_t received, const IncomingSplit& split,
               IncomingStream& stream);
  void NoteEmpty(const Piece& piece);
  void SkipIn(absl::Time now, IncomingSplit& split, Cursor to);
  Cursor OutOf(const IncomingSplit& split) const;

  const ReadSessionSettings& settings_;
  const SessionRules& rules_;
  const KnownRun& run_;
  CreditWindow& window_;
  BeatClock& clock_;

  Map splits_;
  std::optional<SplitId> floor_;  // all splits below it are idle
  IncomingSplit* head_ = nullptr;
  Cursor cursor_;
  GeneratorStatePtr generator_;  // the last state before cursor_
  std::set<SplitId> pullable_;   // sharing readers: with a piece or an error
  std::vector<std::pair<uint64_t, uint64_t>> empties_;
  uint64_t last_opening_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_INCOMING_SPLITS_H_
