#include "client/read_session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "client/piece_part.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// Changes within this time are sent in one heartbeat.
constexpr absl::Duration kCoalesce = absl::Milliseconds(1);
// Acknowledging a taken split is urgent only when few unfinished splits remain.
// With more than kComingOfEach unfinished splits per unacknowledged one,
// acknowledgements are batched for kCoalesceTaken.
constexpr absl::Duration kCoalesceTaken = absl::Milliseconds(10);
constexpr size_t kComingOfEach = 3;
// Reporting an emptied split only ends its binding, which is never urgent.
constexpr absl::Duration kCoalesceEnds = absl::Milliseconds(20);

// True if the piece only says that its positions have no elements.
bool IsEmpty(const Piece& piece) {
  return piece.chunk.rows == 0 && piece.error.ok() && !piece.skipped;
}

}  // namespace

ReadSession::ReadSession(ReadSessionSettings settings)
    : settings_(std::move(settings)),
      window_(settings_.budget_bytes, settings_.quota_bytes),
      session_(settings_.session),
      former_leaves_(settings_.former_leaves),
      cursor_(settings_.start),
      generator_(settings_.state) {}

bool ReadSession::Valid(absl::Time now) const {
  return (state_ == State::kLive || state_ == State::kEnded) &&
         now < renewed_ + client_timeout_ / 2;
}

absl::Time ReadSession::Renewal(absl::Time sent, absl::Time received) const {
  // unused: the process may have been frozen before it
  static_cast<void>(received);
  return sent;
}

std::optional<Piece> ReadSession::Take(Cursor next, Piece piece) const {
  if (next < piece.begin) return std::nullopt;  // a gap
  const bool news =
      next < piece.end || (next == piece.end && !piece.error.ok());
  if (!news) return std::nullopt;
  if (piece.begin == next) return piece;
  return piece.From(next);
}

Cursor ReadSession::After(Cursor cursor) const {
  return {cursor.p, cursor.i + 1};
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
    answered_ = true;
    last_answer_ = now;
    if (state_ == State::kJoin && !refusal->status.ok()) {
      Fail(refusal->status);
    }
  }
  return effects;
}

ReadEffects ReadSession::OnTick(absl::Time now) {
  ReadEffects effects;
  // A repeated leave keeps its reason.
  if (now >= next_leave_) {
    SendLeave(now, effects, false, LeaveReason::kFinished);
  }
  if (leaving_) return effects;
  switch (state_) {
    case State::kJoin:
      if (now >= next_hello_) SendHello(now, effects);
      break;
    case State::kLive:
    case State::kEnded:  // a client stage may still hold elements
      if (now >= next_beat_) SendBeat(now, effects);
      if (now >= next_repeat_) {
        next_repeat_ = now + heartbeat_interval_;
        if (state_ == State::kLive) GrantAll(now, true, effects);
      }
      break;
    case State::kFailed:
      break;
  }
  return effects;
}

absl::Time ReadSession::NextDeadline() const {
  if (leaving_) return next_leave_;
  switch (state_) {
    case State::kJoin:
      return next_hello_;
    case State::kLive:
    case State::kEnded:
      return std::min({next_beat_, next_repeat_, next_leave_});
    case State::kFailed:
      break;
  }
  return absl::InfiniteFuture();
}

// ---- the dispatcher's answers

void ReadSession::OnAnswer(absl::Time now, const ClientAnswer& answer,
                           ReadEffects& effects) {
  if (answer.job != settings_.job || answer.session != session_) return;
  answered_ = true;
  last_answer_ = now;
  workers_ = answer.workers;
  awaited_ = answer.awaited;
  awaited_ranks_ = answer.awaited_ranks;
  // Bindings are durable, so an answer with an older sequence is out of date.
  const bool late = answer.seen.journal == seen_.journal &&
                    answer.seen.sequence < seen_.sequence;
  if (!late) seen_ = answer.seen;
  TakeTraceOrder(now, answer);
  if (leaving_ || state_ == State::kFailed) return;
  if (answer.heartbeat_interval > absl::ZeroDuration()) {
    heartbeat_interval_ = answer.heartbeat_interval;
  }
  client_timeout_ = answer.client_timeout;
  if (answer.beat_sent && *answer.beat_sent <= now) {
    renewed_ = std::max(renewed_, Renewal(*answer.beat_sent, now));
  }
  if (state_ == State::kEnded || late) return;
  if (answer.run) {
    if (!TakeRun(now, *answer.run)) return;
    if (state_ == State::kJoin) {
      state_ = State::kLive;
      next_beat_ = next_repeat_ = now;
    }
  }
  if (state_ == State::kJoin) return;  // still being planned
  dry_ = answer.dry;
  finished_ = answer.finished;
  TakeSplits(now, answer);
  Advance();
  GrantAll(now, false, effects);
  EndIfDone(now, effects);
}

void ReadSession::TakeSplits(absl::Time now, const ClientAnswer& answer) {
  std::map<SplitId, const BoundSplit*> bound;
  for (const BoundSplit& split : answer.splits) bound[split.split] = &split;
  for (auto it = splits_.begin(); it != splits_.end();) {
    auto next = std::next(it);
    if (!bound.contains(it->first)) EraseSplit(it);
    it = next;
  }
  for (const auto& [id, info] : bound) {
    auto [found, fresh] = splits_.try_emplace(id);
    Split& split = found->second;
    if (fresh) {
      split.begin = info->begin;
      split.end = std::max(info->begin, info->end);
      split.next =
          shared() ? split.begin : std::clamp(cursor_, split.begin, split.end);
      split.out = split.next;
      split.state = generator_;
      if (floor_ && id < *floor_) floor_ = id;
    }
    split.error = info->error;
    if (!split.error.ok() && !split.taken()) pullable_.insert(id);
    split.skip = info->skip;
    TakeSkip(now, id, split);
    TakeLeases(now, *info, split);
  }
}

void ReadSession::TakeLeases(absl::Time now, const BoundSplit& bound,
                             Split& split) {
  std::erase_if(split.streams, [&](const auto& entry) {
    return std::find(bound.leases.begin(), bound.leases.end(), entry.first) ==
           bound.leases.end();
  });
  for (const LeaseRef& lease : bound.leases) {
    auto [stream, fresh] = split.streams.try_emplace(lease);
    if (fresh) Reopen(now, split, stream->second);
  }
}

void ReadSession::OnReject(absl::Time now, const ClientReject& reject) {
  if (reject.job != settings_.job) return;
  const bool former = ForgetFormer(reject.session);
  if (!former && reject.session != session_) return;
  answered_ = true;
  last_answer_ = now;
  if (former) return;
  if (leaving_) {
    known_ = false;
    next_leave_ = absl::InfiniteFuture();
    return;
  }
  if (state_ == State::kFailed) return;
  switch (reject.reason) {
    case RejectReason::kUnknown:
      if (shared()) {
        known_ = false;
        Stop(FailedPrecondition(
            "job \"{}\": the dispatcher lost its state, so it is unknown what "
            "the readers that share the job were given: start a new run",
            settings_.job.value()));
      } else if (state_ == State::kLive) {
        Rejoin(now);
      }
      return;
    case RejectReason::kReleased:
      if (shared()) {
        session_.consumer = ConsumerId{fmt::format(
            "{}.{}", settings_.session.consumer.value(), ++rejoins_)};
        ++drops_;
        pulled_.clear();
        pulled_error_ = false;
        Rejoin(now);
      } else if (state_ == State::kLive) {
        Rejoin(now);
      }
      return;
    case RejectReason::kSuperseded:
      known_ = false;
      // A shared job begins its next run only when the present one is complete,
      // so this reader missed the end of its run.
      if (shared() && run_ && !head_ && pulled_.empty()) {
        leaving_ = true;
        state_ = State::kEnded;
        return;
      }
      Stop(reject.detail.ok()
               ? FailedPrecondition(
                     "job \"{}\" was taken over by other readers; this "
                     "reader, \"{}\", stops",
                     settings_.job.value(), session_.consumer.value())
               : reject.detail);
      return;
    case RejectReason::kRefused:
      Stop(reject.detail.ok()
               ? Internal("job \"{}\" was refused without a reason",
                          settings_.job.value())
               : reject.detail);
      return;
  }
}

// Joins again at the present position; buffered elements are sent again.
void ReadSession::Rejoin(absl::Time now) {
  DropSplits();
  ++losses_;
  state_ = State::kJoin;
  known_ = false;
  dry_ = false;
  renewed_ = absl::InfinitePast();
  next_hello_ = now;
}

// Elements handed out before the failure are still reported.
void ReadSession::Fail(absl::Status failure) {
  state_ = State::kFailed;
  failure_ = std::move(failure);
}

// Fails and gives up everything that the session holds.
void ReadSession::Stop(absl::Status failure) {
  DropSplits();
  pulled_.clear();
  Fail(std::move(failure));
}

void ReadSession::DropSplits() {
  splits_.clear();
  pullable_.clear();
  floor_.reset();
  head_.reset();
  window_.ForgetAll();
}

void ReadSession::EraseSplit(Splits::iterator split) {
  uint64_t buffered = 0;
  for (const Buffered& entry : split->second.buffer) buffered += entry.bytes;
  window_.Forget(buffered, split->second.credit());
  pullable_.erase(split->first);
  if (head_ == split->first) head_.reset();
  splits_.erase(split);
}

// ---- frames

void ReadSession::OnFrame(absl::Time now, Frame frame, ReadEffects& effects) {
  if (state_ != State::kLive || frame.session != session_) return;
  auto found = splits_.find(frame.split);
  if (found == splits_.end() || frame.piece.end < frame.piece.begin) return;
  Split& split = found->second;
  auto stream = split.streams.find(
      {frame.worker, frame.worker_incarnation, frame.attempt});
  if (stream != split.streams.end() &&
      stream->second.opening == frame.opening) {
    stream->second.last = now;
    stream->second.state.reset();  // the worker has it
    // A frame before this one was lost.
    if (split.next < frame.piece.begin) Reopen(now, split, stream->second);
  }
  if (split.stopped) return;
  const uint64_t received = split.received;
  window_.ReceiveFrame(
      now, frame.worker, frame.wire_bytes,
      frame.piece.chunk.rows == 0 ? 0 : frame.piece.chunk.ElementBytes());
  std::optional<Piece> piece =
      Take(split.next, PartBelow(std::move(frame.piece), split.end));
  if (piece) Buffer(now, frame.split, split, *std::move(piece));
  if (stream != split.streams.end() &&
      stream->second.opening == frame.opening) {
    NoteUse(now, received, split, stream->second);
  }
  TakeSkip(now, frame.split, split);
  const std::optional<SplitId> head = head_;
  Advance();
  if (head_ && head_ != head) GrantSplit(now, *head_, false, effects);
  GrantSplit(now, frame.split, false, effects);
  EndIfDone(now, effects);
}

void ReadSession::Buffer(absl::Time now, SplitId id, Split& split,
                         Piece piece) {
  const uint64_t bytes = piece.chunk.rows == 0 ? 0 : piece.chunk.ElementBytes();
  window_.Receive(now, piece.end.p - piece.begin.p, bytes);
  split.received += bytes;
  split.next = std::max(split.next, piece.end);
  if (piece.state != nullptr) split.state = piece.state;
  split.stopped = !piece.error.ok();
  // All credit of the split is used or given back.
  if (split.taken() || split.stopped || split.allowed < split.received) {
    SetAllowed(split, split.received);
  }
  if (split.taken()) ReportTaken(now);
  if (IsEmpty(piece)) {
    if (piece.state == nullptr || shared()) return NoteEmpty(piece);
    // Its state is needed. One such piece is buffered in a row.
    piece.cursors = RunRows{};
    if (!split.buffer.empty() && IsEmpty(split.buffer.back().piece)) {
      Piece& last = split.buffer.back().piece;
      last.end = piece.end;
      last.state = std::move(piece.state);
      return;
    }
  }
  window_.Buffer(bytes);
  split.buffer.push_back({std::move(piece), bytes, now});
  if (shared()) pullable_.insert(id);
}

void ReadSession::Advance() {
  head_.reset();
  auto it = floor_ ? splits_.lower_bound(*floor_) : splits_.begin();
  for (; it != splits_.end(); ++it) {
    const Split& split = it->second;
    floor_ = it->first;
    if (split.buffer.empty() && split.begin <= cursor_) {
      cursor_ = std::max(cursor_, split.next);
    }
    if (!split.idle()) {
      head_ = it->first;
      return;
    }
  }
}

void ReadSession::EndIfDone(absl::Time now, ReadEffects& effects) {
  if (state_ != State::kLive) return;
  const bool done = shared() ? finished_ && !head_
                             : EndKnown(*run_) && cursor_.p >= run_->positions;
  if (!done) return;
  state_ = State::kEnded;
  if (pulled_.empty()) SendLeave(now, effects, false, LeaveReason::kFinished);
}

// ---- the application

ReadSession::Splits::iterator ReadSession::NextToPull() {
  if (!shared()) {
    return head_ ? splits_.find(*head_) : splits_.end();
  }
  while (!pullable_.empty()) {
    auto found = splits_.find(*pullable_.begin());
    const bool has = found != splits_.end() &&
                     (!found->second.buffer.empty() ||
                      (!found->second.error.ok() && !found->second.taken()));
    if (has) return found;
    pullable_.erase(pullable_.begin());
  }
  return splits_.end();
}

std::optional<Piece> ReadSession::Pull(absl::Time now, ReadEffects& effects) {
  if (state_ != State::kLive || pulled_error_ || !Valid(now)) {
    return std::nullopt;
  }
  auto found = NextToPull();
  if (found == splits_.end() || found->second.buffer.empty()) window_.Wait(now);
  if (found == splits_.end()) return std::nullopt;
  const SplitId id = found->first;
  Split& split = found->second;
  if (!shared() && (cursor_ < split.begin || split.end < cursor_)) {
    Fail(
        Internal("a hole in job \"{}\": the next element is {}.{}, the first "
                 "split begins at {}.{}",
                 settings_.job.value(), cursor_.p, cursor_.i, split.begin.p,
                 split.begin.i));
    return std::nullopt;
  }
  const bool none = split.buffer.empty();
  if (IsUnsettled(none ? split.next : split.buffer.front().piece.end)) {
    return std::nullopt;
  }
  if (none) return PullError(split);

  Piece piece = std::move(split.buffer.front().piece);
  const uint64_t bytes = split.buffer.front().bytes;
  pulled_split_ = id;
  if (ring_.has_value()) {
    AddSpan(now, {.kind = SpanKind::kBuffered,
                  .split = id,
                  .begin = split.buffer.front().arrived,
                  .end = now,
                  .from = piece.begin,
                  .to = piece.end,
                  .rows = piece.chunk.rows,
                  .bytes = bytes});
  }
  split.buffer.pop_front();
  Drained(split, bytes);
  cursor_ = piece.end;
  if (piece.state != nullptr) generator_ = piece.state;
  if (shared() && piece.chunk.rows > 0) {
    ++split.staged;
    pulled_.push_back({id, pulled_rows_, piece.chunk.rows, piece.begin,
                       piece.end, piece.cursors});
  }
  pulled_rows_ += piece.chunk.rows;
  pulled_bytes_ += bytes;
  if (!piece.error.ok()) {
    // The lease must last until the application has all elements before the
    // error.
    pulled_error_ = shared();
    return piece;
  }
  if (split.idle()) BeatWithin(now, kCoalesceEnds);
  const std::optional<SplitId> head = head_;
  Advance();
  if (head_ != head || window_.freed_a_quarter()) {
    GrantAll(now, false, effects);
  } else if (head_) {
    GrantSplit(now, *head_, false, effects);
  }
  EndIfDone(now, effects);
  return piece;
}

void ReadSession::HandedOut(uint64_t rows) {
  while (!pulled_.empty() && pulled_.front().first_row < rows) {
    const Pulled& first = pulled_.front();
    const uint64_t handed = rows - first.first_row;
    auto split = splits_.find(first.split);
    if (handed < first.rows) {
      if (split != splits_.end()) {
        split->second.out =
            After(CursorOfRow(first.cursors, first.begin, handed - 1));
      }
      return;
    }
    if (split != splits_.end()) {
      split->second.out = first.end;
      --split->second.staged;
    }
    pulled_.pop_front();
  }
  if (state_ == State::kEnded && !leaving_ && pulled_.empty()) {
    next_leave_ = absl::InfinitePast();
  }
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
  if (ring_->half_full()) BeatWithin(now, kCoalesce);
}

// ---- outgoing messages

void ReadSession::SendHello(absl::Time now, ReadEffects& effects) {
  next_hello_ = now + settings_.hello_interval;
  for (const ClientLeave& leave : former_leaves_) {
    effects.sends.push_back({kDispatcherPeer, leave});
  }
  if (!former_leaves_.empty()) return;
  known_ = true;
  ClientHello hello;
  hello.job = settings_.job;
  hello.graph = settings_.graph;
  hello.order = settings_.order;
  hello.seed = settings_.seed;
  hello.session = session_;
  hello.take_over = settings_.take_over;
  hello.cursor = shared() ? Cursor{} : cursor_;
  hello.seen = seen_;
  hello.share = settings_.share;
  hello.run = settings_.run;
  hello.begins = settings_.begins;
  hello.slots = settings_.slots;
  hello.settled = settings_.settled;
  if (run_) {
    hello.run = run_->run;
    hello.begins = false;
    hello.seed = run_->seed;  // if the job is created again, it is the same job
    hello.slots = run_->slots;
    hello.settled = run_->slots > 0 && run_->settled;
  }
  effects.sends.push_back({kDispatcherPeer, std::move(hello)});
}

// When a split is reported as taken, its lease ends and the worker gets
// another.
void ReadSession::ReportTaken(absl::Time now) {
  ++taken_unsaid_;
  const auto coming = static_cast<size_t>(
      std::count_if(splits_.begin(), splits_.end(), [](const auto& entry) {
        return !entry.second.taken() && !entry.second.stopped;
      }));
  BeatWithin(
      now, coming > kComingOfEach * taken_unsaid_ ? kCoalesceTaken : kCoalesce);
}

void ReadSession::BeatWithin(absl::Time now, absl::Duration delay) {
  next_beat_ = std::min(next_beat_, now + delay);
}

// Returns the cursor below which nothing has to be sent again while this
// process lives (rule 16).
Cursor ReadSession::OutOf(const Split& split) const {
  if (!shared()) return std::clamp(cursor_, split.begin, split.end);
  return split.buffer.empty() && split.staged == 0 ? split.next : split.out;
}

std::vector<SplitReport> ReadSession::Report() const {
  std::vector<SplitReport> reports;
  reports.reserve(splits_.size());
  for (const auto& [id, split] : splits_) {
    reports.push_back({id, split.next, OutOf(split)});
  }
  return reports;
}

void ReadSession::SendBeat(absl::Time now, ReadEffects& effects) {
  next_beat_ = now + heartbeat_interval_;
  taken_unsaid_ = 0;
  ClientBeat beat;
  beat.job = settings_.job;
  beat.run = run_->run;
  beat.session = session_;
  beat.sent = now;
  beat.seen = seen_;
  beat.splits = Report();
  if (ring_.has_value()) beat.spans = ring_->Take(now);
  effects.sends.push_back({kDispatcherPeer, std::move(beat)});
}

}  // namespace feedmill
