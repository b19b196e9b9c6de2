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
#include "client/arrival_rate.h"
#include "core/wire/message.h"

namespace feedmill {

struct ReadSessionSettings {
  JobName job;
  std::string graph;  // CanonicalText
  Order order = Order::kDeterministic;
  std::optional<uint64_t> seed;
  std::optional<RunNumber> run;  // absent: the job's present or next one
  bool begins = false;           // `run`, rather than goes on with it
  Cursor start;                  // deterministic: where to begin
  uint64_t slots = 0;            // what is known of the run's; see RunInfo
  bool settled = false;
  Session session;
  // Of readers of this job that this process had before, as far as nobody has
  // acknowledged them: said until then, ahead of this one's hello.
  std::vector<ClientLeave> former_leaves{};
  Share share{};  // of the sequence, if it is one of several ranks
  bool take_over = false;
  uint64_t budget_bytes = uint64_t{64} << 20;  // credit over all splits
  uint64_t quota_bytes = uint64_t{2} << 20;    // the least ahead of one split
  uint32_t weight = kDefaultWeight;            // of the job, at the workers
  absl::Duration reopen_after = absl::Seconds(1);
  absl::Duration hello_interval = absl::Milliseconds(200);
};

struct ReadEffects {
  std::vector<Outgoing> sends;  // to kDispatcherPeer or a worker's id
};

// The client's state machine: what is bound, granted, buffered and handed out.
// Pure. Takes each cursor once, from whichever attempt brings it first.
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
  // The same without copying a frame's piece.
  ReadEffects Handle(absl::Time now, const PeerId& from, Message&& message);
  ReadEffects OnTick(absl::Time now);

  // The next piece for the client stage: in order, or (Order::kAny) as they
  // come; nullopt if none is there, the lease is not valid, or it has ended.
  // Credit returns with it. A piece's error is the last thing pulled, unless
  // SkipTo goes past it; where the run itself failed the piece is only an
  // error: no rows and no spec.
  std::optional<Piece> Pull(absl::Time now, ReadEffects& effects);
  // The first `rows` rows of all that Pull gave (counted from the start) were
  // handed to the application. Sharers' reports use it.
  void HandedOut(uint64_t rows);
  // Deterministic: nothing before `to` is needed that was not pulled. It counts
  // as taken, is not computed, and its errors are none.
  ReadEffects SkipTo(absl::Time now, Cursor to);
  // The application wants no more. Said a few times: keep ticking for as long
  // as is convenient. `unread`: it never began, so nothing is finished.
  ReadEffects Leave(absl::Time now, bool unread = false,
                    LeaveReason why = LeaveReason::kLeft);
  // It has left, and the dispatcher knows that, or never knew of it.
  bool left() const { return leaving_ && !known_; }
  // What nobody has acknowledged of leaves: former ones, and its own.
  std::vector<ClientLeave> UnsaidLeaves() const;

  // Whether what was pulled may be handed to the application now (rule 24).
  bool MayHandOut(absl::Time now) const { return leaving_ || Valid(now); }
  // Rises when what was pulled and not handed out is another reader's from now
  // on: drop it (a sharer that was silent too long and joined anew).
  uint64_t drops() const { return drops_; }

  const ReadSessionSettings& settings() const { return settings_; }
  State state() const { return state_; }
  absl::Status failure() const { return failure_; }  // why kFailed
  const std::optional<RunInfo>& run() const { return run_; }
  uint32_t workers() const { return workers_; }  // the dispatcher knows of
  bool answered() const { return answered_; }    // by a dispatcher, ever
  absl::Time last_answer() const { return last_answer_; }
  uint64_t buffered_bytes() const { return buffered_bytes_; }
  uint64_t window_bytes() const { return window_bytes_; }
  // Of all that Pull gave.
  uint64_t pulled_rows() const { return pulled_rows_; }
  uint64_t pulled_bytes() const { return pulled_bytes_; }
  // Ranks that have not finished the iteration before the one that it waits
  // for, and the first of them.
  uint64_t awaited() const { return awaited_; }
  const std::vector<uint64_t>& awaited_ranks() const { return awaited_ranks_; }
  const Session& session() const { return session_; }
  // Deterministic: all before it has left the buffers.
  Cursor cursor() const { return cursor_; }
  // Sharers of an endless run: positions [first, second) that were taken since
  // the last call and had no elements. Some may be left out.
  std::vector<std::pair<uint64_t, uint64_t>> TakeEmpties() {
    return std::exchange(empties_, {});
  }
  // Sharers: nothing is left to bind and nothing of its own to pull, but others
  // may give some back: let short batches out, and wait.
  virtual bool idle() const {
    return shared() && state_ == State::kLive && dry_ && !head_;
  }
  // When OnTick has something to do.
  absl::Time NextDeadline() const;

 protected:
  // Where the simulator plants its bugs.
  //
  // Whether the lease is valid: half the timeout from when the last
  // acknowledged beat was sent (rule 24), or as Renewal says.
  virtual bool Valid(absl::Time now) const;
  virtual absl::Time Renewal(absl::Time sent, absl::Time received) const;
  // What is new in a piece for a split that has all before `next` (rule 11).
  virtual std::optional<Piece> Take(Cursor next, Piece piece) const;
  // Gives the head split at least one frame (rule 14); false: it is not told
  // that it is the head.
  virtual bool Reserve(uint64_t& allowed, uint64_t received, bool empty) const;
  // The cursor just after an element's.
  virtual Cursor After(Cursor cursor) const;
  // Whether the run's last position is known (rule 27).
  virtual bool EndKnown(const RunInfo& run) const {
    return run.settled && run.positions != kEndlessPositions;
  }
  // True if elements of the second slot are handed on only when the run is
  // settled (P-190).
  virtual bool WaitsToSettle() const { return true; }

 private:
  // Frames that one split's quota holds at least: while one is on its way the
  // next is made.
  static constexpr uint64_t kQuotaFrames = 2;

  // A worker's attempt at a split, as this session opened it.
  struct Stream {
    Opening opening;
    Cursor start;
    uint64_t base = 0;  // received by the split when it was opened
    absl::Time last;    // a frame of this opening, or the opening
    std::optional<Grant> said;
    // More credit that was not used yet, beyond which total it begins.
    struct Asked {
      absl::Time when;
      uint64_t beyond;
    };
    std::optional<Asked> asked;
  };
  struct Buffered {
    Piece piece;
    uint64_t bytes = 0;
  };
  struct Split {
    Cursor begin;
    Cursor end;
    Cursor next;  // all before it was taken
    Cursor out;   // sharers: all before it was handed out
    std::deque<Buffered> buffer;
    // Element bytes since the split was bound: drained <= received <= allowed.
    uint64_t received = 0;
    uint64_t drained = 0;
    uint64_t allowed = 0;
    uint64_t staged = 0;   // pieces pulled, not handed out; sharers only
    bool stopped = false;  // a data error was taken: nothing comes after it
    absl::Status error;    // the dispatcher's: every attempt failed
    std::optional<SkippedElement> skip;  // the dispatcher's, too
    std::map<LeaseRef, Stream> streams;

    bool taken() const { return next >= end; }
    bool idle() const { return taken() && buffer.empty(); }
  };
  // A sharer's piece on its way through the client stage.
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
  // Moves the head, and the cursor over what had no elements.
  void Advance();
  void EndIfDone(absl::Time now, ReadEffects& effects);

  Splits::iterator NextToPull();
  void NoteEmpty(const Piece& piece);
  void SkipIn(absl::Time now, Split& split, Cursor to);
  std::optional<Piece> PullError(const Split& split);

  // Credit, in session_credit.cc.
  void Drained(Split& split, uint64_t bytes);
  void NoteUse(absl::Time now, uint64_t received, const Split& split,
               Stream& stream);
  void SetWindow(uint64_t bytes);
  void WidenWindow(absl::Time now);
  bool WiderIsNoFaster(absl::Time now, double rate);
  uint64_t Arriving(const WorkerId& worker) const;
  void NarrowWindow();
  uint64_t quarter_bytes() const {
    return std::max<uint64_t>(1, ahead_bytes_ / 4);
  }
  void SetAllowed(Split& split, uint64_t allowed);
  void Reopen(absl::Time now, const Split& split, Stream& stream);
  uint64_t MayNeed(const Split& split) const;
  void NoteCame(uint64_t positions, uint64_t bytes);
  void Allot(Split& split, bool is_head);
  bool Worthwhile(const Split& split, const Stream& stream, uint64_t total,
                  bool head) const;
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
  const uint64_t reserve_bytes_;  // of the window, for the head only
  uint64_t quota_bytes_;          // the least ahead of one split
  uint64_t ahead_bytes_ = 0;      // ahead of one split
  // Credit over all splits: as much of the budget as the round trip
  // needs.
  uint64_t window_bytes_;
  absl::Duration round_trip_ = absl::InfiniteDuration();
  absl::Time measured_from_ = absl::InfinitePast();
  uint64_t window_received_ = 0;  // since then
  // The window before it was widened, and what came then in a second.
  struct Narrower {
    uint64_t bytes;
    double rate;
  };
  std::optional<Narrower> narrower_;
  absl::Time widen_from_ = absl::InfinitePast();
  ArrivalRate arrivals_;
  uint64_t positions_came_ = 0;  // halved now and then
  uint64_t bytes_came_ = 0;      // of elements of these
  uint64_t window_pulled_ = 0;
  uint64_t window_unused_;  // the least that was buffered since it was changed

  State state_ = State::kJoin;
  absl::Status failure_;
  Session session_;
  std::optional<RunInfo> run_;
  uint64_t rejoins_ = 0;
  uint64_t drops_ = 0;
  bool pulled_error_ = false;  // sharers: what was pulled before is good
  bool dry_ = false;
  bool finished_ = false;
  bool answered_ = false;
  bool known_ = false;       // the dispatcher may have this session
  size_t taken_unsaid_ = 0;  // splits
  bool leaving_ = false;
  uint32_t leaves_ = 0;
  ClientLeave leave_;  // once leaving, with its last report
  std::vector<ClientLeave> former_leaves_;  // not acknowledged so far
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
  Splits splits_;
  std::optional<SplitId> floor_;  // all splits below it are idle
  std::optional<SplitId> head_;   // the first that is not
  std::vector<std::pair<uint64_t, uint64_t>> empties_;
  std::set<SplitId> pullable_;  // sharers: with a piece or an error
  std::deque<Pulled> pulled_;   // sharers: not handed out
  uint64_t pulled_rows_ = 0;
  uint64_t pulled_bytes_ = 0;
  uint64_t last_opening_ = 0;
  uint64_t buffered_bytes_ = 0;
  uint64_t outstanding_bytes_ = 0;  // allowed - drained, of all splits
  uint64_t freed_bytes_ = 0;        // since credit was last given to all
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READ_SESSION_H_
