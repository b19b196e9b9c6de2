#include "client/read_session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/status.h"

namespace feedmill {
namespace {

// Reporting an emptied split only ends its binding, which is never urgent.
constexpr absl::Duration kCoalesceEnds = absl::Milliseconds(20);

}  // namespace

ReadSession::ReadSession(ReadSessionSettings settings,
                         std::unique_ptr<const SessionRules> rules)
    : settings_(std::move(settings)),
      rules_(std::move(rules)),
      session_(settings_.session),
      window_(settings_.budget_bytes, settings_.quota_bytes),
      lease_(*rules_),
      leave_(settings_),
      run_(settings_, *rules_),
      splits_(settings_, *rules_, run_, window_, clock_),
      grants_(settings_, *rules_, session_, splits_, window_),
      unused_(*rules_) {}

bool ReadSession::Valid(absl::Time now) const {
  return (state_ == State::kLive || state_ == State::kEnded) &&
         lease_.Valid(now);
}

bool ReadSession::idle() const {
  return shared() && state_ == State::kLive && exhausted_ &&
         splits_.head() == nullptr && rules_->HandsOutShortBatches();
}

// ---- entry points

ReadEffects ReadSession::Handle(absl::Time now, const PeerId& from,
                                const Message& message) {
  return Handle(now, from, Message(message));
}

ReadEffects ReadSession::Handle(absl::Time now, const PeerId& from,
                                Message&& message) {
  ReadEffects effects;
  // Messages for other roles are ignored; they are no error.
  if (auto* frame = std::get_if<Frame>(&message)) {
    OnFrame(now, std::move(*frame), effects);
  } else if (from != kDispatcherPeer) {
    return effects;
  } else if (const auto* answer = std::get_if<ClientAnswer>(&message)) {
    OnAnswer(now, *answer, effects);
  } else if (const auto* reject = std::get_if<ClientReject>(&message)) {
    OnReject(now, *reject);
  } else if (const auto* refusal = std::get_if<Refusal>(&message)) {
    NoteAnswered(now);
    if (state_ == State::kJoin && !refusal->status.ok()) {
      Fail(refusal->status);
    }
  }
  return effects;
}

ReadEffects ReadSession::OnTick(absl::Time now) {
  ReadEffects effects;
  // A repeated leave keeps its reason.
  if (now >= leave_.next()) {
    SendLeave(now, effects, false, LeaveReason::kFinished);
  }
  if (leave_.leaving()) return effects;
  switch (state_) {
    case State::kJoin:
      if (now >= next_hello_) SendHello(now, effects);
      break;
    case State::kLive:
    case State::kEnded:  // a client stage may still hold elements
      if (now >= clock_.next()) SendBeat(now, effects);
      if (now >= next_repeat_) {
        next_repeat_ = now + clock_.interval();
        if (state_ == State::kLive) grants_.RepeatAll(now, effects.sends);
      }
      break;
    case State::kFailed:
      break;
  }
  return effects;
}

absl::Time ReadSession::NextDeadline() const {
  if (leave_.leaving()) return leave_.next();
  switch (state_) {
    case State::kJoin:
      return next_hello_;
    case State::kLive:
    case State::kEnded:
      return std::min({clock_.next(), next_repeat_, leave_.next()});
    case State::kFailed:
      break;
  }
  return absl::InfiniteFuture();
}

// ---- the dispatcher's answers

void ReadSession::NoteAnswered(absl::Time now) {
  answered_ = true;
  last_answer_ = now;
}

void ReadSession::OnAnswer(absl::Time now, const ClientAnswer& answer,
                           ReadEffects& effects) {
  if (answer.job != settings_.job || answer.session != session_) return;
  TakeFacts(now, answer);
  // Bindings are durable, so an answer with an older sequence is out of date.
  const bool late = answer.seen.journal == seen_.journal &&
                    answer.seen.sequence < seen_.sequence;
  if (!late) seen_ = answer.seen;
  if (leave_.leaving() || state_ == State::kFailed) return;
  if (answer.heartbeat_interval > absl::ZeroDuration()) {
    clock_.SetInterval(answer.heartbeat_interval);
  }
  lease_.SetTimeout(answer.client_timeout);
  if (answer.beat_sent && *answer.beat_sent <= now) {
    lease_.Renew(*answer.beat_sent, now);
  }
  if (state_ == State::kEnded || late) return;
  if (answer.run) {
    if (!TakeRun(now, *answer.run)) return;
    if (state_ == State::kJoin) {
      state_ = State::kLive;
      clock_.Start(now);
      next_repeat_ = now;
    }
  }
  if (state_ == State::kJoin) return;  // still being planned
  exhausted_ = answer.exhausted;
  finished_ = answer.finished;
  splits_.Bind(now, answer.splits);
  splits_.Advance();
  grants_.SendAll(now, effects.sends);
  EndIfDone(now, effects);
}

// Takes the facts that are of use in any state.
void ReadSession::TakeFacts(absl::Time now, const ClientAnswer& answer) {
  NoteAnswered(now);
  workers_ = answer.workers;
  awaited_ = answer.awaited;
  joins_ = rules_->AwaitsIteration(answer, run_.info().has_value());
  awaited_ranks_ = answer.awaited_ranks;
  TakeTraceOrder(now, answer);
}

bool ReadSession::TakeRun(absl::Time now, const RunInfo& run) {
  const bool first = !run_.info().has_value();
  const absl::StatusOr<bool> taken = run_.Take(run, splits_.cursor());
  if (!taken.ok()) {
    Stop(taken.status());
    return false;
  }
  if (*taken && first && run.sequenced) {
    splits_.BeginSequence(settings_.sequence.value_or(SequenceStart()));
  }
  if (!*taken && state_ == State::kLive) Rejoin(now);
  return *taken;
}

void ReadSession::OnReject(absl::Time now, const ClientReject& reject) {
  if (reject.job != settings_.job) return;
  if (leave_.AcknowledgeFormer(reject.session)) {
    NoteAnswered(now);
    if (!leave_.has_former()) next_hello_ = absl::InfinitePast();
    return;
  }
  if (reject.session != session_) return;
  NoteAnswered(now);
  if (leave_.leaving()) return leave_.Acknowledge();
  if (state_ == State::kFailed) return;
  if (BeganAfter(now, reject)) {
    session_.incarnation = Incarnation(reject.later->life.value() + 1);
    next_hello_ = now;
    return;
  }
  switch (reject.reason) {
    case RejectReason::kUnknown:
      if (shared()) {
        leave_.SetKnown(false);
        Stop(FailedPrecondition(
            "job \"{}\": the dispatcher lost its state, so it is unknown what "
            "the readers that share the job were given: start a new run",
            settings_.job.value()));
      } else if (state_ == State::kLive) {
        Rejoin(now);
      }
      return;
    case RejectReason::kReleased:
      return OnReleased(now);
    case RejectReason::kSuperseded:
      return OnSuperseded(reject);
    case RejectReason::kRefused:
      Stop(reject.detail.ok()
               ? Internal("job \"{}\" was refused without a reason",
                          settings_.job.value())
               : reject.detail);
      return;
  }
}

// True if this reader is later than a life with a higher number: it has read
// nothing, and it began after the dispatcher had met that life.
bool ReadSession::BeganAfter(absl::Time now, const ClientReject& reject) const {
  return reject.later.has_value() && state_ == State::kJoin &&
         !run_.info().has_value() &&
         session_.incarnation <= reject.later->life &&
         now - begun_ < reject.later->met;
}

// The session was silent for too long. A sharing reader joins under a new name,
// because its elements may be another reader's by now.
void ReadSession::OnReleased(absl::Time now) {
  if (shared()) {
    session_.consumer = ConsumerId{
        fmt::format("{}.{}", settings_.session.consumer.value(), ++rejoins_)};
    ++drops_;
    unused_.Clear();
    pulled_error_ = false;
    Rejoin(now);
  } else if (state_ == State::kLive) {
    Rejoin(now);
  }
}

void ReadSession::OnSuperseded(const ClientReject& reject) {
  leave_.SetKnown(false);
  // A shared job begins its next run only when the present one is complete, so
  // this reader missed the end of its run.
  if (shared() && run_.info() && splits_.head() == nullptr && unused_.empty()) {
    leave_.BeginUnsent();
    state_ = State::kEnded;
    return;
  }
  Stop(reject.detail.ok()
           ? FailedPrecondition(
                 "job \"{}\" was taken over by other readers; this reader, "
                 "\"{}\", stops",
                 settings_.job.value(), session_.consumer.value())
           : reject.detail);
}

// Joins again at the present position; buffered elements are sent again.
void ReadSession::Rejoin(absl::Time now) {
  splits_.Clear();
  ++losses_;
  state_ = State::kJoin;
  leave_.SetKnown(false);
  exhausted_ = false;
  lease_.Lose();
  next_hello_ = now;
}

// Elements handed out before the failure are still reported.
void ReadSession::Fail(absl::Status failure) {
  state_ = State::kFailed;
  failure_ = std::move(failure);
}

// Fails and gives up everything that the session holds.
void ReadSession::Stop(absl::Status failure) {
  splits_.Clear();
  unused_.Clear();
  Fail(std::move(failure));
}

void ReadSession::EndIfDone(absl::Time now, ReadEffects& effects) {
  if (state_ != State::kLive) return;
  const bool done = shared() ? finished_ && splits_.head() == nullptr
                             : run_.EndsBefore(splits_.cursor());
  if (!done) return;
  state_ = State::kEnded;
  if (unused_.empty()) SendLeave(now, effects, false, LeaveReason::kFinished);
}

// ---- pieces

void ReadSession::OnFrame(absl::Time now, Frame frame, ReadEffects& effects) {
  if (state_ != State::kLive || frame.session != session_) return;
  const IncomingSplit* const head = splits_.head();
  IncomingSplit* const split = splits_.Receive(now, std::move(frame));
  if (split == nullptr) return;
  if (splits_.head() != head) grants_.SendHead(now, effects.sends);
  grants_.Send(now, *split, effects.sends);
  EndIfDone(now, effects);
}

void ReadSession::NoteArriving(absl::Time now, const WorkerId& worker) {
  splits_.NoteArriving(now, worker);
}

std::optional<Piece> ReadSession::Pull(absl::Time now, ReadEffects& effects) {
  if (state_ != State::kLive || pulled_error_ || !Valid(now)) {
    return std::nullopt;
  }
  IncomingSplit* const split = splits_.NextToPull();
  const bool none = split == nullptr || split->buffer.empty();
  if (none) window_.Wait(now);
  if (split == nullptr) return std::nullopt;
  if (IsBeyondHole(*split)) {
    const Cursor next = splits_.cursor();
    Fail(Internal(
        "a hole in job \"{}\": the next element is {}.{}, the first "
        "split begins at {}.{}",
        settings_.job.value(), next.p, next.i, split->begin.p, split->begin.i));
    return std::nullopt;
  }
  if (run_.IsUnsettled(none ? split->next : split->buffer.front().piece.end)) {
    return std::nullopt;
  }
  if (none) return PullError(*split);
  Piece piece = PullFirst(now, *split);
  if (!piece.error.ok()) {
    // The lease must last until the application has all elements before the
    // error.
    pulled_error_ = shared();
    return piece;
  }
  if (split->idle()) clock_.BeatWithin(now, kCoalesceEnds);
  const IncomingSplit* const head = splits_.head();
  splits_.Advance();
  if (splits_.head() != head || window_.freed_a_quarter()) {
    grants_.SendAll(now, effects.sends);
  } else {
    grants_.SendHead(now, effects.sends);
  }
  EndIfDone(now, effects);
  return piece;
}

bool ReadSession::IsBeyondHole(const IncomingSplit& split) const {
  const Cursor next = splits_.cursor();
  return !shared() && (next < split.begin || split.end < next);
}

// Ends a run if every attempt at `split` failed.
std::optional<Piece> ReadSession::PullError(const IncomingSplit& split) {
  if (split.error.ok() || split.taken()) return std::nullopt;
  Piece piece;
  piece.begin = piece.end = split.next;
  piece.error = split.error;
  Fail(piece.error);
  return piece;
}

Piece ReadSession::PullFirst(absl::Time now, IncomingSplit& split) {
  ArrivedPiece first = splits_.Pull(split);
  const Piece& piece = first.piece;
  pulled_split_ = split.id;
  if (traced()) {
    AddSpan(now, {.kind = SpanKind::kBuffered,
                  .split = split.id,
                  .begin = first.arrived,
                  .end = now,
                  .from = piece.begin,
                  .to = piece.end,
                  .rows = piece.chunk.rows,
                  .bytes = first.bytes});
  }
  if (shared() && piece.chunk.rows > 0) {
    unused_.Add(split, pulled_rows_, piece);
  }
  pulled_rows_ += piece.chunk.rows;
  pulled_bytes_ += first.bytes;
  return std::move(first.piece);
}

void ReadSession::HandedOut(uint64_t rows) {
  unused_.Use(rows, splits_);
  if (state_ == State::kEnded && !leave_.leaving() && unused_.empty()) {
    leave_.SendSoon();
  }
}

ReadEffects ReadSession::SkipTo(absl::Time now, Cursor to) {
  ReadEffects effects;
  if (shared() || leave_.leaving() || to <= splits_.cursor()) return effects;
  splits_.SkipTo(to);
  if (state_ != State::kLive) return effects;  // sent with the next hello
  splits_.DropSkipped(now);
  clock_.BeatWithin(now, absl::ZeroDuration());
  grants_.SendAll(now, effects.sends);
  EndIfDone(now, effects);
  return effects;
}

// ---- tracing

void ReadSession::TakeTraceOrder(absl::Time now, const ClientAnswer& answer) {
  if (!answer.tracing.has_value() || answer.tracing->traces.empty()) {
    ring_.reset();
    return;
  }
  const uint64_t trace = answer.tracing->traces.front();
  if (!ring_.has_value() || ring_->trace() != trace) ring_.emplace(trace);
  ring_->NoteClock(now, *answer.tracing);
}

void ReadSession::AddSpan(absl::Time now, const TraceSpan& span) {
  if (!ring_.has_value()) return;
  ring_->Add(span);
  if (ring_->half_full()) clock_.BeatSoon(now);
}

// ---- outgoing messages

void ReadSession::SendHello(absl::Time now, ReadEffects& effects) {
  next_hello_ = now + settings_.hello_interval;
  begun_ = std::min(begun_, now);
  if (leave_.SendFormer(effects.sends)) return;
  leave_.SetKnown(true);
  ClientHello hello;
  hello.job = settings_.job;
  hello.graph = settings_.graph;
  hello.order = settings_.order;
  hello.session = session_;
  hello.take_over = settings_.take_over;
  hello.cursor = shared() ? Cursor{} : splits_.cursor();
  hello.seen = seen_;
  hello.share = settings_.share;
  run_.Name(hello);
  effects.sends.push_back({kDispatcherPeer, std::move(hello)});
}

void ReadSession::SendBeat(absl::Time now, ReadEffects& effects) {
  clock_.NoteBeat(now);
  ClientBeat beat;
  beat.job = settings_.job;
  beat.run = run_.info()->run;
  beat.session = session_;
  beat.sent = now;
  beat.seen = seen_;
  beat.splits = splits_.Report();
  if (ring_.has_value()) beat.spans = ring_->Take(now);
  effects.sends.push_back({kDispatcherPeer, std::move(beat)});
}

ReadEffects ReadSession::Leave(absl::Time now, bool unread, LeaveReason why) {
  ReadEffects effects;
  if (leave_.leaving()) return effects;
  SendLeave(now, effects, unread, why);
  if (state_ != State::kFailed) state_ = State::kEnded;
  splits_.Clear();
  unused_.Clear();
  return effects;
}

void ReadSession::SendLeave(absl::Time now, ReadEffects& effects, bool unread,
                            LeaveReason why) {
  if (!leave_.leaving()) leave_.Begin(MakeLeave(now, unread, why));
  leave_.Send(now, effects.sends);
}

// Run 0: the session never heard of its run (a hello that opens it may still be
// on its way), or never began to read it.
ClientLeave ReadSession::MakeLeave(absl::Time now, bool unread,
                                   LeaveReason why) {
  ClientLeave leave;
  leave.job = settings_.job;
  leave.session = session_;
  leave.why = why;
  if (run_.info() && !unread) {
    leave.run = run_.info()->run;
    leave.splits = splits_.Report();
  }
  if (ring_.has_value()) leave.spans = ring_->Take(now);
  return leave;
}

}  // namespace feedmill
