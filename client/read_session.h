#ifndef FEEDMILL_CLIENT_READ_SESSION_H_
#define FEEDMILL_CLIENT_READ_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/beat_clock.h"
#include "client/credit_window.h"
#include "client/incoming_splits.h"
#include "client/known_run.h"
#include "client/session_lease.h"
#include "client/session_leave.h"
#include "client/session_rules.h"
#include "client/session_settings.h"
#include "client/split_grants.h"
#include "client/unused_pieces.h"
#include "core/wire/message.h"
#include "core/wire/span_ring.h"

namespace feedmill {

struct ReadEffects {
  std::vector<Outgoing> sends;  // to kDispatcherPeer or a worker's id
};

// The client's state machine: joins a job, keeps its lease, takes the pieces of
// the splits that are bound to it, and leaves. It passes each message to the
// part that is responsible for it:
//
//   IncomingSplits  the splits and their pieces; takes each cursor once
//   SplitGrants     the credit of the workers
//   UnusedPieces    pieces whose rows a sharing reader has not all used
//   KnownRun        the run, also after the dispatcher lost its state
//   SessionLease    the time for which elements may be handed out
//   BeatClock       the time of the next heartbeat
//   SessionLeave    the leave, and those of earlier readers
//   SessionRules    decisions for which the simulator plants bugs
//
// Pure.
//
// Thread: the client's reactor only.
// States: join → live ⇄ mute (lease not valid: hands out nothing) → ended |
// failed. See PROTOCOL.md.
class ReadSession {
 public:
  enum class State { kJoin, kLive, kEnded, kFailed };

  explicit ReadSession(ReadSessionSettings settings,
                       std::unique_ptr<const SessionRules> rules =
                           std::make_unique<SessionRules>());
  ReadSession(const ReadSession&) = delete;
  ReadSession& operator=(const ReadSession&) = delete;

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
  bool left() const { return leave_.left(); }
  // Unacknowledged leaves: of earlier readers and its own.
  std::vector<ClientLeave> UnacknowledgedLeaves() const {
    return leave_.Unacknowledged();
  }

  // Bytes of a worker arrive now: perhaps of a large frame that is not whole
  // yet. Its streams are not opened again for a while (rule 12).
  void NoteArriving(absl::Time now, const WorkerId& worker);

  // True if pulled elements may be handed to the application now (rule 24).
  bool MayHandOut(absl::Time now) const {
    return leave_.leaving() || Valid(now);
  }
  // Rises when pulled elements that were not handed out belong to another
  // reader from now on: drop them. Happens when a sharing reader was silent for
  // too long and joined again.
  uint64_t drops() const { return drops_; }

  const ReadSessionSettings& settings() const { return settings_; }
  State state() const { return state_; }
  absl::Status failure() const { return failure_; }  // why kFailed
  const std::optional<RunInfo>& run() const { return run_.info(); }
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
  // True if the last answer had no run: the session waits to join, perhaps for
  // ranks that are behind. It may have had a run before.
  bool joins() const { return joins_; }
  const Session& session() const { return session_; }
  // Times that the session was lost and joined again.
  uint64_t losses() const { return losses_; }
  // Deterministic order: all elements before it have left the buffers.
  Cursor cursor() const { return splits_.cursor(); }
  // Sharing readers of an infinite run: position ranges [first, second) that
  // were taken since the last call and had no elements. May be incomplete.
  std::vector<std::pair<uint64_t, uint64_t>> TakeEmpties() {
    return splits_.TakeEmpties();
  }
  // Sharing readers: true if no split is left to bind and no piece to pull, but
  // other readers may return splits. Hand out partial batches and wait.
  bool idle() const;
  // Time at which OnTick has to be called.
  absl::Time NextDeadline() const;

 private:
  bool shared() const { return settings_.shared(); }
  // True if the session has a lease, which lasts at least until now.
  bool Valid(absl::Time now) const;

  // ---- the dispatcher
  void OnAnswer(absl::Time now, const ClientAnswer& answer,
                ReadEffects& effects);
  void TakeFacts(absl::Time now, const ClientAnswer& answer);
  bool TakeRun(absl::Time now, const RunInfo& run);
  void TakeTraceOrder(absl::Time now, const ClientAnswer& answer);
  void OnReject(absl::Time now, const ClientReject& reject);
  bool BeganAfter(absl::Time now, const ClientReject& reject) const;
  void OnReleased(absl::Time now);
  void OnSuperseded(const ClientReject& reject);
  void NoteAnswered(absl::Time now);
  void Rejoin(absl::Time now);
  void Fail(absl::Status failure);
  void Stop(absl::Status failure);
  void SendHello(absl::Time now, ReadEffects& effects);
  void SendBeat(absl::Time now, ReadEffects& effects);
  void SendLeave(absl::Time now, ReadEffects& effects, bool unread,
                 LeaveReason why);
  ClientLeave MakeLeave(absl::Time now, bool unread, LeaveReason why);
  void EndIfDone(absl::Time now, ReadEffects& effects);

  // ---- pieces
  void OnFrame(absl::Time now, Frame frame, ReadEffects& effects);
  bool IsBeyondHole(const IncomingSplit& split) const;
  std::optional<Piece> PullError(const IncomingSplit& split);
  Piece PullFirst(absl::Time now, IncomingSplit& split);

  const ReadSessionSettings settings_;
  const std::unique_ptr<const SessionRules> rules_;
  // Its name changes if a sharing reader joins again. Its incarnation rises
  // before the reader joins, if the clock of this machine is behind.
  Session session_;
  CreditWindow window_;
  BeatClock clock_;
  SessionLease lease_;
  SessionLeave leave_;
  KnownRun run_;
  IncomingSplits splits_;
  SplitGrants grants_;
  UnusedPieces unused_;

  State state_ = State::kJoin;
  absl::Status failure_;
  uint64_t rejoins_ = 0;
  uint64_t losses_ = 0;
  uint64_t drops_ = 0;
  // sharing readers: elements pulled before it are valid
  bool pulled_error_ = false;
  bool exhausted_ = false;
  bool finished_ = false;
  bool answered_ = false;
  uint32_t workers_ = 0;
  uint64_t awaited_ = 0;
  bool joins_ = true;
  std::vector<uint64_t> awaited_ranks_;
  Seen seen_;
  absl::Time last_answer_ = absl::InfinitePast();
  absl::Time next_hello_ = absl::InfinitePast();
  absl::Time begun_ = absl::InfiniteFuture();      // the first hello was sent
  absl::Time next_repeat_ = absl::InfinitePast();  // of all grants

  SplitId pulled_split_;
  std::optional<SpanRing> ring_;  // while the job is traced
  uint64_t pulled_rows_ = 0;
  uint64_t pulled_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READ_SESSION_H_
