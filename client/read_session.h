#ifndef FEEDMILL_CLIENT_READ_SESSION_H_
#define FEEDMILL_CLIENT_READ_SESSION_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/credit_window.h"
#include "core/wire/message.h"
#include "core/wire/span_ring.h"

namespace feedmill {

struct ReadSessionSettings {
  JobName job;
  std::string graph;  // CanonicalText
  Order order = Order::kDeterministic;
  std::optional<uint64_t> seed;
  std::optional<RunNumber> run;  // absent: the job's present or next run
  bool begins = false;           // true: begins `run`; false: continues it
  Cursor start;                  // deterministic: where to begin
  // A generator's state that leads to `start`, or null.
  GeneratorStatePtr state{};
  uint64_t slots = 0;  // known slots of the run; see RunInfo
  bool settled = false;
  Session session;
  // Unacknowledged leaves of earlier readers of this job in this process. Sent
  // before this reader's hello until they are acknowledged.
  std::vector<ClientLeave> former_leaves{};
  Share share{};  // share of this rank
  bool take_over = false;
  uint64_t budget_bytes = uint64_t{64} << 20;  // credit over all splits
  // minimum credit ahead of one split
  uint64_t quota_bytes = uint64_t{2} << 20;
  uint32_t weight = kDefaultWeight;  // of the job, at the workers
  absl::Duration reopen_after = absl::Seconds(1);
  absl::Duration hello_interval = absl::Milliseconds(200);
};

struct ReadEffects {
  std::vector<Outgoing> sends;  // to kDispatcherPeer or a worker's id
};

// The client's state machine: splits that are bound, granted, buffered and
// handed out. Takes each cursor once, from the first attempt that sends it.
// Pure.
//
// Thread: the client's reactor only.
// States: join → live ⇄ mute (lease not valid: hands out nothing) → ended |
// failed. See PROTOCOL.md.
class ReadSession {
 public:
  enum class State { kJoin, kLive, kEnded, kFailed };

  explicit ReadSession(ReadSessionSettings settings);
  virtual ~ReadSession() = default;

  ReadEffects Handle(absl::Time now, const PeerId& from,
                     const Message& message);
  // Avoids copying a frame's piece.
  ReadEffects Handle(absl::Time now, const PeerId& from, Message&& message);
  ReadEffects OnTick(absl::Time now);

  // Returns the next piece for the client stage: in order or, with Order::kAny,
  // in order of arrival. Nullopt if none is buffered, the lease is not valid,
  // or the session has ended. Returns the piece's credit to the worker.
  //
  // A piece with an error is the last one, unless SkipTo skips it. If the run
  // itself failed, the piece has only the error: no rows and no spec.
  std::optional<Piece> Pull(absl::Time now, ReadEffects& effects);
  // The split of the last piece that Pull returned.
  SplitId pulled_split() const { return pulled_split_; }
  // True while the job is traced.
  bool traced() const { return ring_.has_value(); }
  // Adds a span of the application. No effect unless the job is traced.
  void AddSpan(absl::Time now, const TraceSpan& span);
  // Reports that the first `rows` of all rows returned by Pull were handed to
  // the application. Used in the reports of sharing readers.
  void HandedOut(uint64_t rows);
  // Deterministic order: declares that elements before `to` that were not
  // pulled are not needed. They count as taken, are not computed, and their
  // errors are ignored.
  ReadEffects SkipTo(absl::Time now, Cursor to);
  // Ends the session at the application's request. The leave message is
  // repeated a few times, so keep calling OnTick for a while. `unread`: the
  // reader never began, so no run is finished.
  ReadEffects Leave(absl::Time now, bool unread = false,
                    LeaveReason why = LeaveReason::kLeft);
  // True if the session has left and the dispatcher knows, or never knew of it.
  bool left() const { return leaving_ && !known_; }
  // Unacknowledged leaves: of earlier readers and its own.
  std::vector<ClientLeave> UnsaidLeaves() const;

  // Bytes of a worker arrive now: perhaps of a large frame that is not whole
  // yet. Its streams are not opened again for a while (rule 12).
  void NoteArriving(absl::Time now, const WorkerId& worker);

  // True if pulled elements may be handed to the application now (rule 24).
  bool MayHandOut(absl::Time now) const { return leaving_ || Valid(now); }
  // Rises when pulled elements that were not handed out belong to another
  // reader from now on: drop them. Happens when a sharing reader was silent for
  // too long and joined again.
  uint64_t drops() const { return drops_; }

  const ReadSessionSettings& settings() const { return settings_; }
  State state() const { return state_; }
  absl::Status failure() const { return failure_; }  // why kFailed
  const std::optional<RunInfo>& run() const { return run_; }
  uint32_t workers() const { return workers_; }  // that the dispatcher knows of
  bool answered() const { return answered_; }    // by any dispatcher so far
  absl::Time last_answer() const { return last_answer_; }
  uint64_t buffered_bytes() const { return window_.buffered_bytes(); }
  uint64_t window_bytes() const { return window_.bytes(); }
  // Totals of all pieces returned by Pull.
  uint64_t pulled_rows() const { return pulled_rows_; }
  uint64_t pulled_bytes() const { return pulled_bytes_; }
  // Number of ranks that have not finished the iteration before the requested
  // one, and the first of them.
  uint64_t awaited() const { return awaited_; }
  const std::vector<uint64_t>& awaited_ranks() const { return awaited_ranks_; }
  const Session& session() const { return session_; }
  // Times that the session was lost and joined again.
  uint64_t losses() const { return losses_; }
  // Deterministic order: all elements before it have left the buffers.
  Cursor cursor() const { return cursor_; }
  // Sharing readers of an infinite run: position ranges [first, second) that
  // were taken since the last call and had no elements. May be incomplete.
  std::vector<std::pair<uint64_t, uint64_t>> TakeEmpties() {
    return std::exchange(empties_, {});
  }
  // Sharing readers: true if no split is left to bind and no piece to pull, but
  // other readers may return splits. Hand out partial batches and wait.
  virtual bool idle() const {
    return shared() && state_ == State::kLive && dry_ && !head_;
  }
  // Time at which OnTick has to be called.
  absl::Time NextDeadline() const;

 protected:
  // Overridden by the simulator to plant bugs.
  //
  // True if the lease is valid: for half the timeout after the last
  // acknowledged heartbeat was sent (rule 24), or as Renewal says.
  virtual bool Valid(absl::Time now) const;
  virtual absl::Time Renewal(absl::Time sent, absl::Time received) const;
  // Returns the new part of a piece, for a split that has all before `next`
  // (rule 11).
  virtual std::optional<Piece> Take(Cursor next, Piece piece) const;
  // Gives the head split credit for at least one frame (rule 14). False: its
  // grant does not say that it is the head.
  virtual bool Reserve(uint64_t& allowed, uint64_t received, bool empty) const;
  // Returns the cursor just after an element's.
  virtual Cursor After(Cursor cursor) const;
  // True if the run's last position is known (rule 27).
  virtual bool EndKnown(const RunInfo& run) const {
    return run.settled && run.positions != kInfinitePositions;
  }
  // True if elements of the second slot are released only when the run is
  // settled (P-190).
  virtual bool WaitsToSettle() const { return true; }

 private:
  // A worker's attempt at a split, as this session opened it.
  struct IncomingStream {
    Opening opening;
    Cursor start;
    uint64_t base = 0;  // bytes the split had received when it was opened
    // Last frame of this opening, or bytes of one, or time of the opening.
    absl::Time last;
    std::optional<Grant> said;
    // A generator's state that leads to `start`. Null after the first frame.
    GeneratorStatePtr state;
    // Additional credit not used yet; it begins beyond this total.
    struct Asked {
      absl::Time when;
      uint64_t beyond;
    };
    std::optional<Asked> asked;
  };
  struct Buffered {
    Piece piece;
    uint64_t bytes = 0;
    absl::Time arrived;
  };
  struct Split {
    Cursor begin;
    Cursor end;
    Cursor next;              // all before it was taken
    GeneratorStatePtr state;  // of a generator: the last one before `next`
    Cursor out;               // sharing readers: all before it was handed out
    std::deque<Buffered> buffer;
    // Element bytes since the split was bound: drained <= received <= allowed.
    uint64_t received = 0;
    uint64_t drained = 0;
    uint64_t allowed = 0;
    uint64_t staged = 0;  // pieces pulled, not handed out; sharing readers only
    bool stopped = false;  // ends with a data error
    absl::Status error;    // from the dispatcher: every attempt failed
    std::optional<SkippedElement> skip;  // from the dispatcher
    std::map<LeaseRef, IncomingStream> streams;

    bool taken() const { return next >= end; }
    uint64_t credit() const { return allowed - drained; }
    bool idle() const { return taken() && buffer.empty(); }
  };
  // A sharing reader's piece in the client stage.
  struct Pulled {
    SplitId split;
    uint64_t first_row = 0;
    uint64_t rows = 0;
    Cursor begin;
    Cursor end;
    RowCursors cursors;
  };
  using Splits = std::map<SplitId, Split>;

  bool shared() const { return settings_.order == Order::kAny; }

  void OnAnswer(absl::Time now, const ClientAnswer& answer,
                ReadEffects& effects);
  bool TakeRun(absl::Time now, const RunInfo& run);
  uint64_t KnownSlots() const;
  bool IsUnsettled(Cursor end) const;
  void TakeSplits(absl::Time now, const ClientAnswer& answer);
  void TakeLeases(absl::Time now, const BoundSplit& bound, Split& split);
  void TakeTraceOrder(absl::Time now, const ClientAnswer& answer);
  void OnReject(absl::Time now, const ClientReject& reject);
  bool ForgetFormer(const Session& session);
  void Rejoin(absl::Time now);
  void OnFrame(absl::Time now, Frame frame, ReadEffects& effects);
  void Buffer(absl::Time now, SplitId id, Split& split, Piece piece);
  void TakeSkip(absl::Time now, SplitId id, Split& split);
  void Fail(absl::Status failure);
  void Stop(absl::Status failure);
  void DropSplits();
  void EraseSplit(Splits::iterator split);
  // Advances the head, and the cursor past positions without elements.
  void Advance();
  void EndIfDone(absl::Time now, ReadEffects& effects);

  Splits::iterator NextToPull();
  void NoteEmpty(const Piece& piece);
  void SkipIn(absl::Time now, Split& split, Cursor to);
  std::optional<Piece> PullError(const Split& split);

  // Credit (session_credit.cc).
  void Drained(Split& split, uint64_t bytes);
  void NoteUse(absl::Time now, uint64_t received, const Split& split,
               IncomingStream& stream);
  void SetAllowed(Split& split, uint64_t allowed);
  void Reopen(absl::Time now, const Split& split, IncomingStream& stream);
  void Allot(Split& split, bool is_head);
  bool Worthwhile(const Split& split, const IncomingStream& stream,
                  uint64_t total, bool head) const;
  void GrantSplit(absl::Time now, SplitId id, bool repeat,
                  ReadEffects& effects);
  void GrantAll(absl::Time now, bool repeat, ReadEffects& effects);

  void SendHello(absl::Time now, ReadEffects& effects);
  std::vector<SplitReport> Report() const;
  void SendBeat(absl::Time now, ReadEffects& effects);
  void SendLeave(absl::Time now, ReadEffects& effects, bool unread,
                 LeaveReason why);
  void ReportTaken(absl::Time now);
  void BeatWithin(absl::Time now, absl::Duration delay);
  Cursor OutOf(const Split& split) const;

  const ReadSessionSettings settings_;
  CreditWindow window_;

  State state_ = State::kJoin;
  absl::Status failure_;
  Session session_;
  std::optional<RunInfo> run_;
  uint64_t rejoins_ = 0;
  uint64_t losses_ = 0;
  uint64_t drops_ = 0;
  // sharing readers: elements pulled before it are valid
  bool pulled_error_ = false;
  bool dry_ = false;
  bool finished_ = false;
  bool answered_ = false;
  bool known_ = false;       // the dispatcher may know this session
  size_t taken_unsaid_ = 0;  // splits taken and not acknowledged
  bool leaving_ = false;
  uint32_t leaves_ = 0;
  ClientLeave leave_;  // set when leaving, with the last report
  std::vector<ClientLeave> former_leaves_;  // not acknowledged yet
  uint32_t workers_ = 0;
  uint64_t awaited_ = 0;
  std::vector<uint64_t> awaited_ranks_;
  Seen seen_;
  absl::Duration heartbeat_interval_ = absl::Milliseconds(200);
  absl::Duration client_timeout_ = absl::ZeroDuration();
  absl::Time renewed_ = absl::InfinitePast();
  absl::Time last_answer_ = absl::InfinitePast();
  absl::Time next_hello_ = absl::InfinitePast();
  absl::Time next_beat_ = absl::InfinitePast();
  absl::Time next_repeat_ = absl::InfinitePast();  // of all grants
  absl::Time next_leave_ = absl::InfiniteFuture();

  Cursor cursor_;
  GeneratorStatePtr generator_;  // the last state before cursor_
  Splits splits_;
  std::optional<SplitId> floor_;  // all splits below it are idle
  std::optional<SplitId> head_;   // the first split that is not idle
  std::vector<std::pair<uint64_t, uint64_t>> empties_;
  std::set<SplitId> pullable_;  // sharing readers: with a piece or an error
  std::deque<Pulled> pulled_;   // sharing readers: not handed out
  SplitId pulled_split_;
  std::optional<SpanRing> ring_;  // while the job is traced
  uint64_t pulled_rows_ = 0;
  uint64_t pulled_bytes_ = 0;
  uint64_t last_opening_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READ_SESSION_H_
