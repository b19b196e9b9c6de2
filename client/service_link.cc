#include "client/service_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "client/quarantine.h"
#include "client/unacknowledged_leaves.h"
#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/log.h"
#include "core/net/process_limits.h"

namespace feedmill {
namespace {

constexpr absl::Duration kLinkReportInterval = absl::Milliseconds(500);
// Bytes queued between the buffer, which credit bounds, and the application.
// The queue is filled again when half of it is empty, so that the event loop is
// not woken for each piece.
constexpr uint64_t kQueueBytes = uint64_t{4} << 20;
constexpr size_t kEmptiesMax = 4'096;  // more add no information
constexpr size_t kSkippedKept = 4;     // texts of skipped elements in a report
constexpr absl::Duration kLinger = absl::Milliseconds(50);
constexpr absl::Duration kAwaitLeft = absl::Seconds(1);
// A dispatcher silent for this long is not waited for.
constexpr absl::Duration kSilent = absl::Seconds(5);
constexpr Reactor::Limits kDispatcherLimits{int64_t{256} << 20, 1'000};

}  // namespace

absl::StatusOr<std::unique_ptr<ServiceLink>> ServiceLink::Connect(
    const Address& dispatcher, std::string cluster_id,
    std::optional<Security> security, ReadSessionSettings settings,
    Transports transports) {
  TuneMalloc();
  const std::string service = dispatcher.ToString();
  settings.former_leaves =
      UnacknowledgedLeaves::OfThisProcess().Of(service, settings.job);
  auto link = std::unique_ptr<ServiceLink>(
      new ServiceLink(service, std::move(cluster_id), std::move(security),
                      std::move(settings), std::move(transports)));
  FM_ASSIGN_OR_RETURN(link->dispatcher_,
                      link->reactor_.Connect(dispatcher, kDispatcherLimits,
                                             ToDispatcher(link->security_)));
  link->links_.SetDispatcher(link->dispatcher_);
  link->reactor_.Start(link.get());
  return link;
}

ServiceLink::ServiceLink(std::string service, std::string cluster_id,
                         std::optional<Security> security,
                         ReadSessionSettings settings, Transports transports)
    : service_(std::move(service)),
      security_(std::move(security)),
      reactor_("fm-reader"),
      messenger_(reactor_, std::move(cluster_id)),
      queued_max_(settings.queued_pieces),
      session_(std::move(settings)),
      links_(reactor_, messenger_, security_, std::move(transports),
             InProcessChannel::Make(
                 reactor_,
                 [this](const std::shared_ptr<InProcessChannel>&,
                        Message message) {
                   OnFromProcess(reactor_.now(), std::move(message));
                 }),
             [this](const PeerId& worker) {
               ReceiveLocal(reactor_.now(), worker);
             }),
      progress_(SteadyNow()) {}

ServiceLink::~ServiceLink() {
  Leave();
  AwaitLeft();
  if (!reactor_.Post([this] { reactor_.Stop(kLinger); })) reactor_.Stop();
  // Runs the loop once: if the application ran it last, the reactor's own
  // thread would only check later.
  reactor_.Turn(absl::InfinitePast());
  reactor_.Join();
  KeepUnacknowledgedLeaves();
}

bool ServiceLink::Anonymous() const {
  return session_.settings().job.value().starts_with('@');
}

// Waits until the dispatcher knows of the leave, so that the next reader in any
// process finds the iteration over. The wait covers a restart of the
// dispatcher.
void ServiceLink::AwaitLeft() {
  if (Anonymous()) return;
  const absl::Time begun = SteadyNow();
  View view = Await(absl::ZeroDuration(), /*for_piece=*/false);
  if (!view.answered || begun - view.last_answer > kSilent) return;
  const absl::Time until = begun + kAwaitLeft;
  while (!view.left && SteadyNow() < until) {
    view = Await(until - SteadyNow(), /*for_piece=*/false);
  }
}

void ServiceLink::KeepUnacknowledgedLeaves() {
  if (Anonymous()) return;
  UnacknowledgedLeaves::OfThisProcess().Replace(
      service_, session_.settings().former_leaves,
      session_.UnacknowledgedLeaves());
}

// ---- the application's thread

ServiceLink::View ServiceLink::Await(absl::Duration at_most, bool for_piece) {
  const absl::Time until = SteadyNow() + at_most;
  std::unique_lock lock(mu_);
  while (!news_ && (!for_piece || queue_.empty()) && SteadyNow() < until) {
    lock.unlock();
    const bool runs = reactor_.Turn(until);
    lock.lock();
    if (!runs) break;
  }
  news_ = false;
  View view = view_;
  view.queued = !queue_.empty();
  return view;
}

bool ServiceLink::Take(uint64_t drops, QueuedPiece& next) {
  bool taken = false;
  bool refill = false;
  {
    const std::lock_guard lock(mu_);
    while (!taken && !queue_.empty() && queue_.front().drops <= drops) {
      taken = queue_.front().drops == drops;
      queue_bytes_ -= queue_.front().bytes;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    refill = taken && full_ && queue_bytes_ <= kQueueBytes / 2 &&
             queue_.size() <= queued_max_ / 2;
    if (refill) full_ = false;
  }
  if (refill) reactor_.Wake();
  return taken;
}

std::vector<std::pair<uint64_t, uint64_t>> ServiceLink::TakeEmpties() {
  const std::lock_guard lock(mu_);
  return std::exchange(empties_, {});
}

void ServiceLink::Leave(bool unread, LeaveReason why) {
  reactor_.Post([this, unread, why] {
    session_.HandedOut(handed_out_.load());
    TakeSpans(reactor_.now());
    Perform(session_.Leave(reactor_.now(), unread, why));
  });
}

void ServiceLink::SkipTo(uint64_t position) {
  reactor_.Post([this, position] {
    Perform(session_.SkipTo(reactor_.now(), {position, 0}));
  });
}

void ServiceLink::HandOut(uint64_t rows, bool soon) {
  handed_out_.store(std::max(rows, handed_out_.load()));
  if (!soon) return;
  {
    const std::lock_guard lock(mu_);
    if (!queue_.empty()) return;
  }
  reactor_.Wake();
}

// While the reactor stands still, spans beyond one ring are dropped.
void ServiceLink::AddSpan(const TraceSpan& span) {
  const std::lock_guard lock(mu_);
  if (spans_.size() < SpanRing::kSpansMax) spans_.push_back(span);
}

// ---- the reactor's thread

void ServiceLink::OnMessage(absl::Time now, SocketId socket, std::string_view,
                            std::vector<Buffer> parts) {
  if (socket == dispatcher_) {
    OnFromDispatcher(now, parts);
  } else {
    OnFromSocket(now, socket, parts);
  }
}

void ServiceLink::OnFromDispatcher(absl::Time now,
                                   const std::vector<Buffer>& parts) {
  absl::StatusOr<Message> message =
      messenger_.Receive(now, dispatcher_, "", parts, /*answer=*/false);
  if (message.ok()) {
    if (const auto* relay = std::get_if<Relay>(&*message)) {
      const PeerId worker(relay->worker.value());
      const auto route = links_.RouteFrom(worker);
      if (route) Receive(now, worker, *route, relay->parts);
      return;
    }
    split_log_.Received("", *message);
    Perform(session_.Handle(now, kDispatcherPeer, *std::move(message)));
  } else if (absl::IsFailedPrecondition(message.status())) {
    refusal_ = message.status();
  }
}

// Local messages are read before and after one of the socket, which keeps all
// in order.
void ServiceLink::OnFromSocket(absl::Time now, SocketId socket,
                               const std::vector<Buffer>& parts) {
  const PeerId* const found = links_.WorkerAt(socket);
  if (found == nullptr) return;
  const PeerId worker = *found;
  ReceiveLocal(now, worker);
  const auto route = links_.RouteFrom(worker);
  if (!route) return;
  Receive(now, worker, *route, parts);
  ReceiveLocal(now, worker);
}

// Handles the messages of the local connection to a worker.
void ServiceLink::ReceiveLocal(absl::Time now, const PeerId& worker) {
  for (;;) {
    // Looked up for each message: handling one may close the link.
    const auto route = links_.RouteFrom(worker);
    if (!route || route->memory == nullptr) return;
    const std::vector<Buffer> parts = route->memory->Next();
    if (parts.empty()) return links_.NoteLocalRead(now, worker);
    Receive(now, worker, *route, parts);
  }
}

// Handles a message that came by the route.
void ServiceLink::Receive(absl::Time now, const PeerId& worker,
                          const WorkerLinks::Route& route,
                          const std::vector<Buffer>& parts) {
  absl::StatusOr<Message> message = messenger_.Receive(
      now, route.socket, "", parts, /*answer=*/false, route.memory.get());
  if (!message.ok()) {
    links_.NoteMessage(now, worker, /*frame=*/nullptr);
  } else if (const auto* offer = std::get_if<ShareOffer>(&*message)) {
    links_.OnOffer(worker, *offer);
  } else {
    links_.NoteMessage(now, worker, std::get_if<Frame>(&*message));
    Handle(now, worker, *std::move(message));
  }
}

void ServiceLink::OnFromProcess(absl::Time now, Message message) {
  const auto* frame = std::get_if<Frame>(&message);
  if (frame == nullptr) return;
  const PeerId worker(frame->worker.value());
  if (!links_.NoteMessage(now, worker, frame)) return;
  Handle(now, worker, std::move(message));
}

void ServiceLink::Handle(absl::Time now, const PeerId& worker,
                         Message message) {
  if (std::holds_alternative<Frame>(message)) progress_ = now;
  split_log_.Received("", message);
  Perform(session_.Handle(now, worker, std::move(message)));
}

ReaderState ServiceLink::State() {
  ReaderState state;
  {
    const std::lock_guard lock(mu_);
    state = state_;
  }
  const ReaderLoad times = times_.Load();
  state.load.elapsed = times.elapsed;
  state.load.waited = times.waited;
  state.load.stage = times.stage;
  return state;
}

void ServiceLink::OnTurn(absl::Time now) {
  const uint64_t handed_out = handed_out_.load();
  if (handed_out != handed_out_sent_) {
    session_.HandedOut(handed_out);
    handed_out_sent_ = handed_out;
  }
  if (session_.traced() != traced()) traced_.store(session_.traced());
  if (session_.traced()) TakeSpans(now);
  if (now >= session_.NextDeadline()) {
    links_.ForEachArriving([&](const PeerId& worker) {
      session_.NoteArriving(now, WorkerId(worker.value()));
    });
    Perform(session_.OnTick(now));
  }
  std::vector<QueuedPiece> pulled;
  PullInto(now, pulled);
  if (session_.cursor() != cursor_ || !pulled.empty()) {
    cursor_ = session_.cursor();
    progress_ = now;
  }
  Publish(now, std::move(pulled));
  links_.CloseIdle(now);
}

void ServiceLink::TakeSpans(absl::Time now) {
  std::vector<TraceSpan> spans;
  {
    const std::lock_guard lock(mu_);
    spans.swap(spans_);
  }
  for (const TraceSpan& span : spans) session_.AddSpan(now, span);
}

absl::Time ServiceLink::NextDeadline() const { return session_.NextDeadline(); }

void ServiceLink::PullInto(absl::Time now, std::vector<QueuedPiece>& pulled) {
  uint64_t room = 0;
  size_t places = 0;
  {
    const std::lock_guard lock(mu_);
    room = queue_bytes_ < kQueueBytes ? kQueueBytes - queue_bytes_ : 0;
    places = queued_max_ - std::min(queued_max_, queue_.size());
    full_ = room == 0 || places == 0;
  }
  uint64_t bytes = 0;
  while (bytes < room && places-- > 0) {
    ReadEffects effects;
    const uint64_t pulled_before = session_.pulled_bytes();
    std::optional<Piece> piece = session_.Pull(now, effects);
    // Before the effects: they may have the last report.
    if (piece.has_value() && piece->skipped) {
      ++skipped_;
      if (skipped_texts_.size() < kSkippedKept) {
        skipped_texts_.push_back(SkippedText(*piece->skipped));
      }
    }
    Perform(std::move(effects));
    if (!piece.has_value()) return;
    const uint64_t rows = piece->chunk.rows;
    uint64_t size = session_.pulled_bytes() - pulled_before;
    if (piece->state != nullptr) {
      size += sizeof(Piece) + piece->state->bytes.size();
    }
    bytes += size;
    pulled.push_back({*std::move(piece), pulled_rows_, session_.drops(), size,
                      session_.pulled_split()});
    pulled_rows_ += rows;
  }
  const std::lock_guard lock(mu_);
  full_ = true;
}

// Before a dispatcher has answered, wrong keys end the read at once. Later they
// may belong to a restarted dispatcher.
void ServiceLink::WatchHandshake(View& next) {
  next.handshake = reactor_.HandshakeFailure(dispatcher_);
  if (!session_.answered() && absl::IsFailedPrecondition(next.handshake)) {
    refusal_ = next.handshake;
  }
}

void ServiceLink::Publish(absl::Time now, std::vector<QueuedPiece> pulled) {
  View next;
  WatchHandshake(next);
  next.state = refusal_.ok() ? session_.state() : ReadSession::State::kFailed;
  next.failure = refusal_.ok() ? session_.failure() : refusal_;
  next.run = session_.run();
  next.incarnation = session_.session().incarnation;
  next.drops = session_.drops();
  next.turn = now;
  next.may_hand_out = session_.MayHandOut(now);
  next.idle = session_.idle();
  next.left = session_.left();
  next.answered = session_.answered();
  next.last_answer = session_.last_answer();
  next.workers = session_.workers();
  next.awaited = session_.awaited();
  next.joins = session_.joins();
  next.awaited_ranks = session_.awaited_ranks();
  next.progress = progress_;
  next.cursor = session_.cursor();
  next.faults = links_.FindFaults();
  const auto empties = session_.TakeEmpties();
  const std::lock_guard lock(mu_);
  next.workers_changed =
      next.workers == view_.workers ? view_.workers_changed : now;
  const bool news = next.state != view_.state || next.drops != view_.drops ||
                    next.run.has_value() != view_.run.has_value() ||
                    next.may_hand_out != view_.may_hand_out ||
                    next.idle != view_.idle || next.left != view_.left;
  view_ = std::move(next);
  state_.joined = view_.run.has_value();
  state_.reconnects = reactor_.reconnects() + session_.losses();
  AddSessionTo(state_.load);
  if (empties_.size() < kEmptiesMax) {
    empties_.insert(empties_.end(), empties.begin(), empties.end());
  }
  for (QueuedPiece& piece : pulled) {
    queue_bytes_ += piece.bytes;
    queue_.push_back(std::move(piece));
  }
  news_ = news_ || news;
}

void ServiceLink::Perform(ReadEffects effects) {
  for (Outgoing& outgoing : effects.sends) {
    if (auto* grant = std::get_if<Grant>(&outgoing.message)) {
      links_.Send(outgoing.to, std::move(*grant));
    } else {
      SendToDispatcher(std::move(outgoing.message));
    }
  }
}

void ServiceLink::SendToDispatcher(Message message) {
  if (auto* beat = std::get_if<ClientBeat>(&message);
      beat != nullptr && reactor_.now() >= next_link_report_) {
    next_link_report_ = reactor_.now() + kLinkReportInterval;
    beat->links = links_.Reports();
    beat->load = Load();
  } else if (auto* leave = std::get_if<ClientLeave>(&message);
             leave != nullptr && leave->session == session_.session()) {
    leave->load = Load();
  }
  split_log_.Sent("", message);
  messenger_.Send(dispatcher_, "", message);
}

// The report for the dispatcher.
ReaderLoad ServiceLink::Load() {
  ReaderLoad load = times_.Load();
  AddSessionTo(load);
  load.skipped_elements = std::exchange(skipped_texts_, {});
  load.unreachable = links_.Unreachable();
  return load;
}

void ServiceLink::AddSessionTo(ReaderLoad& load) const {
  load.elements = session_.pulled_rows();
  load.bytes = session_.pulled_bytes();
  load.buffered_bytes = session_.buffered_bytes();
  load.window_bytes = session_.window_bytes();
  load.skipped = skipped_;
}

}  // namespace feedmill
