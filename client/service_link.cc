#include "client/service_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "client/quarantine.h"
#include "client/unsaid_leaves.h"
#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/log.h"
#include "core/net/process_limits.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {
namespace {

constexpr size_t kWorkersMax = 32;
constexpr size_t kReportsMax = 256;
constexpr absl::Duration kTellLinks = absl::Milliseconds(500);
constexpr absl::Duration kWorkerIdle = absl::Seconds(10);
constexpr absl::Duration kCloseInterval = absl::Seconds(1);
constexpr absl::Duration kUnreachableAfter = absl::Seconds(2);
// Time to wait for a worker to offer its memory, or for its next frame to use
// it, before asking again.
constexpr absl::Duration kAskInterval = absl::Seconds(1);
// Bytes queued between the buffer, which credit bounds, and the application.
// The queue is filled again when half of it is empty, so that the event loop is
// not woken for each piece.
constexpr uint64_t kQueueBytes = uint64_t{4} << 20;
constexpr size_t kEmptiesMax = 4'096;  // more add no information
constexpr absl::Duration kLinger = absl::Milliseconds(50);
constexpr absl::Duration kAwaitLeft = absl::Seconds(1);
// A dispatcher silent for this long is not waited for.
constexpr absl::Duration kSilent = absl::Seconds(5);
// Fewer bytes between two heartbeats are no large frame.
constexpr uint64_t kArrivingBytes = uint64_t{64} << 10;
constexpr Reactor::Limits kDispatcherLimits{int64_t{256} << 20, 1'000};
constexpr Reactor::Limits kWorkerLimits{int64_t{4} << 30, 1'000};

}  // namespace

absl::StatusOr<std::unique_ptr<ServiceLink>> ServiceLink::Connect(
    const Address& dispatcher, std::string cluster_id,
    std::optional<Security> security, ReadSessionSettings settings, Ways ways) {
  TuneMalloc();
  const std::string service = dispatcher.ToString();
  settings.former_leaves =
      UnsaidLeaves::OfThisProcess().Of(service, settings.job);
  auto link = std::unique_ptr<ServiceLink>(
      new ServiceLink(service, std::move(cluster_id), std::move(security),
                      std::move(settings), std::move(ways)));
  FM_ASSIGN_OR_RETURN(link->dispatcher_,
                      link->reactor_.Connect(dispatcher, kDispatcherLimits,
                                             ToDispatcher(link->security_)));
  link->reactor_.Start(link.get());
  return link;
}

ServiceLink::ServiceLink(std::string service, std::string cluster_id,
                         std::optional<Security> security,
                         ReadSessionSettings settings, Ways ways)
    : service_(std::move(service)),
      security_(std::move(security)),
      reactor_("fm-reader"),
      messenger_(reactor_, std::move(cluster_id)),
      ways_(std::move(ways)),
      boot_id_(ways.share && !ways.via_dispatcher ? BootId() : ""),
      mailbox_(Mailbox::Make(
          reactor_,
          [this](const std::shared_ptr<Mailbox>&, Message message) {
            OnFromProcess(std::move(message));
          })),
      session_(std::move(settings)),
      progress_(SteadyNow()) {}

ServiceLink::~ServiceLink() {
  Leave();
  AwaitLeft();
  if (!reactor_.Post([this] { reactor_.Stop(kLinger); })) reactor_.Stop();
  // Runs the loop once: if the application ran it last, the reactor's own
  // thread would only check later.
  reactor_.Turn(absl::InfinitePast());
  reactor_.Join();
  mailbox_->Close();
  for (auto& [worker, worker_link] : workers_) LeaveMemory(worker_link);
  KeepUnsaidLeaves();
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

void ServiceLink::KeepUnsaidLeaves() {
  if (Anonymous()) return;
  UnsaidLeaves::OfThisProcess().Replace(
      service_, session_.settings().former_leaves, session_.UnsaidLeaves());
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

std::optional<ServiceLink::Handed> ServiceLink::Take() {
  std::optional<Handed> handed;
  bool refill = false;
  {
    const std::lock_guard lock(mu_);
    if (queue_.empty()) return std::nullopt;
    handed = std::move(queue_.front());
    queue_.pop_front();
    queue_bytes_ -= handed->bytes;
    refill = full_ && queue_bytes_ <= kQueueBytes / 2;
    if (refill) full_ = false;
  }
  if (refill) reactor_.Wake();
  return handed;
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

void ServiceLink::SkipTo(Cursor to) {
  reactor_.Post([this, to] { Perform(session_.SkipTo(reactor_.now(), to)); });
}

void ServiceLink::HandOut(uint64_t rows, bool soon) {
  handed_out_.store(rows);
  if (!soon) return;
  {
    const std::lock_guard lock(mu_);
    if (!queue_.empty()) return;
  }
  reactor_.Wake();
}

// While the reactor stands still, spans beyond those of one ring are dropped.
void ServiceLink::AddSpan(const TraceSpan& span) {
  const std::lock_guard lock(mu_);
  if (spans_.size() < SpanRing::kSpansMax) spans_.push_back(span);
}

void ServiceLink::Interrupt() {
  {
    const std::lock_guard lock(mu_);
    news_ = true;
  }
  reactor_.Wake();
}

// ---- the reactor's thread

void ServiceLink::OnMessage(absl::Time now, SocketId socket, std::string_view,
                            std::vector<Buffer> parts) {
  if (socket != dispatcher_) {
    const auto named = worker_of_.find(socket);
    if (named == worker_of_.end()) return;
    const PeerId worker(named->second);
    OnFromMemory(now, worker);
    OnFromWorker(now, worker, parts);
    OnFromMemory(now, worker);
    return;
  }
  absl::StatusOr<Message> message =
      messenger_.Receive(now, socket, "", parts, /*answer=*/false);
  if (message.ok()) {
    if (const auto* relay = std::get_if<Relay>(&*message)) {
      return OnFromWorker(now, PeerId(relay->worker.value()), relay->parts);
    }
    split_log_.Came("", *message);
    Perform(session_.Handle(now, kDispatcherPeer, *std::move(message)));
  } else if (absl::IsFailedPrecondition(message.status())) {
    refusal_ = message.status();
  }
}

void ServiceLink::OnFromWorker(absl::Time now, const PeerId& worker,
                               const std::vector<Buffer>& parts) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  WorkerLink& link = found->second;
  absl::StatusOr<Message> message = messenger_.Receive(
      now, link.socket, "", parts, /*answer=*/false, link.memory.get());
  if (message.ok()) {
    if (const auto* offer = std::get_if<ShareOffer>(&*message)) {
      return JoinMemory(worker, link, *offer);
    }
    if (const auto* frame = std::get_if<Frame>(&*message)) {
      progress_ = now;
      Note(worker, link, *frame);
    }
  }
  AskForMemory(now, link);
  if (!message.ok()) return;
  split_log_.Came("", *message);
  Perform(session_.Handle(now, worker, *std::move(message)));
}

// Handles a frame from a worker in this process.
void ServiceLink::OnFromProcess(Message message) {
  const auto* frame = std::get_if<Frame>(&message);
  if (frame == nullptr) return;
  const PeerId worker(frame->worker.value());
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  progress_ = reactor_.now();
  Note(worker, found->second, *frame);
  split_log_.Came("", message);
  Perform(session_.Handle(reactor_.now(), worker, std::move(message)));
}

void ServiceLink::Note(const PeerId& worker, const WorkerLink& link,
                       const Frame& frame) {
  const Chunk& chunk = frame.piece.chunk;
  if (ways_.profile != nullptr && frame.costs != nullptr) {
    for (const StepCost& cost : *frame.costs) {
      ways_.profile->AddWork(PlaceOfFrame(cost.place),
                             {static_cast<double>(cost.wall_ns) * 1e-9,
                              static_cast<double>(cost.cpu_ns) * 1e-9,
                              cost.rows_in, cost.rows_out, cost.bytes_out});
    }
  }
  const std::lock_guard lock(mu_);
  if (reports_.size() >= kReportsMax && !reports_.contains(worker)) return;
  LinkReport& report = reports_[worker];
  report.worker = worker.value();
  report.kind =
      link.memory != nullptr && link.memory->state() == ArenaLink::State::kUp
          ? LinkKind::kMemory
          : link.kind;
  report.compression = frame.came;
  ++report.frames;
  if (chunk.rows > 0) report.element_bytes += chunk.ElementBytes();
  report.wire_bytes += frame.wire_bytes;
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
  state.load.skipped = times.skipped;
  return state;
}

std::vector<LinkReport> ServiceLink::Links() {
  const std::lock_guard lock(mu_);
  std::vector<LinkReport> links;
  links.reserve(reports_.size());
  for (const auto& [worker, report] : reports_) links.push_back(report);
  return links;
}

// ---- shared memory

// If a worker no longer uses a link, the connection was made again and the
// worker knows this client by another routing id.
void ServiceLink::AskForMemory(absl::Time now, WorkerLink& link) {
  if (link.memory != nullptr && link.memory->Used()) {
    link.ask_at = now + kAskInterval;
  }
  if (boot_id_.empty() || link.kind != LinkKind::kTcp || now < link.ask_at) {
    return;
  }
  LeaveMemory(link);
  link.ask_at = now + kAskInterval;
  messenger_.Send(link.socket, "", ShareRequest{boot_id_});
}

void ServiceLink::JoinMemory(const PeerId& worker, WorkerLink& link,
                             const ShareOffer& offer) {
  if (link.memory != nullptr || boot_id_.empty()) return;
  absl::StatusOr<std::shared_ptr<ArenaLink>> joined =
      offer.socket_name.empty()
          ? Unavailable("it is on another host, or shares nothing")
          : ArenaLink::Join(offer);
  if (!joined.ok()) {
    LogDebug("{} sends all through TCP: {}", worker.value(),
             ErrorText(joined.status()));
    link.ask_at = absl::InfiniteFuture();
    return;
  }
  link.memory = *std::move(joined);
  reactor_.Watch(link.memory->fd(),
                 [this, worker] { OnMemoryReadable(worker); });
}

void ServiceLink::OnMemoryReadable(const PeerId& worker) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  WorkerLink& link = found->second;
  if (link.memory == nullptr) return;
  if (link.memory->state() == ArenaLink::State::kJoining) {
    if (link.memory->OnReadable() == ArenaLink::State::kLost) LeaveMemory(link);
  } else {
    OnFromMemory(reactor_.now(), worker);
  }
}

// Handles messages of the local connection.
void ServiceLink::OnFromMemory(absl::Time now, const PeerId& worker) {
  for (;;) {
    // Looked up for each message: handling one may close the link.
    const auto found = workers_.find(worker);
    if (found == workers_.end() || found->second.memory == nullptr) return;
    WorkerLink& link = found->second;
    const std::vector<Buffer> parts = link.memory->Next();
    if (!parts.empty()) {
      OnFromWorker(now, worker, parts);
      continue;
    }
    link.waits_since = link.memory->waits() ? std::min(link.waits_since, now)
                                            : absl::InfiniteFuture();
    if (link.memory->state() == ArenaLink::State::kLost ||
        now - link.waits_since >= kAskInterval) {
      LeaveMemory(link);
    }
    return;
  }
}

void ServiceLink::LeaveMemory(WorkerLink& link) {
  if (link.memory == nullptr) return;
  reactor_.Unwatch(link.memory->fd());
  link.memory->Retire();
  link.memory.reset();
  link.waits_since = absl::InfiniteFuture();
}

void ServiceLink::OnTurn(absl::Time now) {
  const uint64_t handed_out = handed_out_.load();
  if (handed_out != handed_out_told_) {
    session_.HandedOut(handed_out);
    handed_out_told_ = handed_out;
  }
  if (session_.traced() != traced()) traced_.store(session_.traced());
  if (session_.traced()) TakeSpans(now);
  if (now >= session_.NextDeadline()) {
    NoteArriving(now);
    Perform(session_.OnTick(now));
  }
  std::vector<Handed> pulled;
  PullInto(now, pulled);
  if (session_.cursor() != cursor_ || !pulled.empty()) {
    cursor_ = session_.cursor();
    progress_ = now;
  }
  Publish(now, std::move(pulled));
  CloseIdle(now);
}

// A frame of a large element takes longer than the time after which a stream
// without a frame is opened again.
void ServiceLink::NoteArriving(absl::Time now) {
  for (auto& [worker, link] : workers_) {
    if (link.kind == LinkKind::kProcess) continue;
    const std::optional<uint64_t> bytes = reactor_.ReceivedBytes(link.socket);
    if (bytes && link.received && *bytes >= *link.received + kArrivingBytes) {
      session_.NoteArriving(now, WorkerId(worker.value()));
    }
    link.received = bytes;
  }
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

void ServiceLink::PullInto(absl::Time now, std::vector<Handed>& pulled) {
  uint64_t room = 0;
  {
    const std::lock_guard lock(mu_);
    room = queue_bytes_ < kQueueBytes ? kQueueBytes - queue_bytes_ : 0;
    full_ = room == 0;
  }
  uint64_t bytes = 0;
  while (bytes < room) {
    ReadEffects effects;
    std::optional<Piece> piece = session_.Pull(now, effects);
    // Before the effects: they may have the last report.
    if (piece.has_value() && piece->skipped) {
      times_.AddSkipped(SkippedText(*piece->skipped));
    }
    Perform(std::move(effects));
    if (!piece.has_value()) return;
    const uint64_t rows = piece->chunk.rows;
    const uint64_t size = rows > 0 ? piece->chunk.ElementBytes() : 0;
    bytes += size;
    pulled.push_back({*std::move(piece), pulled_rows_, session_.drops(), size,
                      session_.pulled_split()});
    pulled_rows_ += rows;
  }
  const std::lock_guard lock(mu_);
  full_ = true;
}

// Before a dispatcher has answered, wrong keys end the read at once. Later they
// may be those of a restarted dispatcher.
void ServiceLink::WatchHandshake(View& next) {
  next.handshake = reactor_.HandshakeFailure(dispatcher_);
  if (!session_.answered() && absl::IsFailedPrecondition(next.handshake)) {
    refusal_ = next.handshake;
  }
}

void ServiceLink::Publish(absl::Time now, std::vector<Handed> pulled) {
  View next;
  WatchHandshake(next);
  next.state = refusal_.ok() ? session_.state() : ReadSession::State::kFailed;
  next.failure = refusal_.ok() ? session_.failure() : refusal_;
  next.run = session_.run();
  next.drops = session_.drops();
  next.turn = now;
  next.may_hand_out = session_.MayHandOut(now);
  next.idle = session_.idle();
  next.left = session_.left();
  next.answered = session_.answered();
  next.last_answer = session_.last_answer();
  next.workers = session_.workers();
  next.awaited = session_.awaited();
  next.awaited_ranks = session_.awaited_ranks();
  next.progress = progress_;
  next.cursor = session_.cursor();
  WatchWorkers(next);
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
  for (Handed& handed : pulled) {
    queue_bytes_ += handed.bytes;
    queue_.push_back(std::move(handed));
  }
  news_ = news_ || news;
}

void ServiceLink::WatchWorkers(View& next) const {
  for (const auto& [worker, link] : workers_) {
    if (link.kind == LinkKind::kTcp && security_.has_value()) {
      absl::Status why = reactor_.HandshakeFailure(link.socket);
      if (absl::IsFailedPrecondition(why)) {
        next.refused_by_worker = std::move(why);
      }
    }
    if (link.stuck_since < next.unreachable_since) {
      next.unreachable = SplitKey(worker.value()).address;
      next.unreachable_since = link.stuck_since;
    }
  }
}

void ServiceLink::Perform(ReadEffects effects) {
  for (Outgoing& outgoing : effects.sends) {
    if (auto* grant = std::get_if<Grant>(&outgoing.message)) {
      SendGrant(outgoing.to, std::move(*grant));
    } else {
      SendToDispatcher(std::move(outgoing.message));
    }
  }
}

void ServiceLink::SendToDispatcher(Message message) {
  if (auto* beat = std::get_if<ClientBeat>(&message);
      beat != nullptr && reactor_.now() >= tell_links_at_) {
    tell_links_at_ = reactor_.now() + kTellLinks;
    beat->links = Links();
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
  load.skipped_elements = times_.TakeSkipped();
  load.unreachable = Unreachable();
  return load;
}

// Returns the workers that get grants and have accepted none for
// kUnreachableAfter.
std::vector<std::string> ServiceLink::Unreachable() const {
  const absl::Time now = reactor_.now();
  std::vector<std::string> names;
  for (const auto& [worker, link] : workers_) {
    if (now - link.stuck_since < kUnreachableAfter ||
        now - link.used > kUnreachableAfter) {
      continue;
    }
    if (names.size() < ReaderLoad::kUnreachableMax) {
      names.push_back(worker.value());
    }
  }
  return names;
}

void ServiceLink::AddSessionTo(ReaderLoad& load) const {
  load.elements = session_.pulled_rows();
  load.bytes = session_.pulled_bytes();
  load.buffered_bytes = session_.buffered_bytes();
  load.window_bytes = session_.window_bytes();
}

void ServiceLink::SendGrant(const PeerId& worker, Grant grant) {
  WorkerLink* const link = Reach(worker, grant);
  if (link == nullptr) return;  // repeated with the next heartbeat
  link->used = reactor_.now();
  grant.profile = ways_.profile != nullptr;
  if (link->kind == LinkKind::kProcess) {
    // If the worker is gone, connect to its next incarnation later.
    if (!link->process->Put(mailbox_, std::move(grant))) {
      Close(workers_.find(worker));
    }
    return;
  }
  grant.compression = ways_.compression;
  grant.checksums = link->checksums;
  if (link->kind == LinkKind::kRelay) {
    messenger_.Send(
        link->socket, "",
        Relay{WorkerId(worker.value()), "", messenger_.Wrap(std::move(grant))});
    return;
  }
  const Parts parts = messenger_.Wrap(std::move(grant));
  const bool sent =
      (link->memory != nullptr && link->memory->Send(parts)) ||
      messenger_.SendWrapped(link->socket, "", parts) == Reactor::Sent::kYes;
  link->stuck_since = sent ? absl::InfiniteFuture()
                           : std::min(link->stuck_since, reactor_.now());
}

// Returns the link to a worker and makes it if needed. At the limit, replaces
// the link that was idle the longest, if it is idle now or the new one carries
// the head.
ServiceLink::WorkerLink* ServiceLink::Reach(const PeerId& worker,
                                            const Grant& grant) {
  const auto found = workers_.find(worker);
  const absl::Time now = reactor_.now();
  if (found != workers_.end()) return &found->second;
  if (workers_.size() >= kWorkersMax) {
    const auto oldest = std::min_element(workers_.begin(), workers_.end(),
                                         [](const auto& a, const auto& b) {
                                           return a.second.used < b.second.used;
                                         });
    if (!grant.head && now - oldest->second.used < kCloseInterval) {
      return nullptr;
    }
    Close(oldest);
  }
  absl::StatusOr<WorkerLink> opened = Open(worker, grant);
  if (!opened.ok()) {
    LogWarning("{}", ErrorText(opened.status()));
    return nullptr;
  }
  WorkerLink& link = workers_[worker] = *std::move(opened);
  if (link.kind == LinkKind::kTcp) worker_of_.emplace(link.socket, worker);
  link.used = link.ask_at = now;
  AskForMemory(now, link);
  return &link;
}

absl::StatusOr<ServiceLink::WorkerLink> ServiceLink::Open(const PeerId& worker,
                                                          const Grant& grant) {
  if (ways_.via_dispatcher) {
    WorkerLink link;
    link.kind = LinkKind::kRelay;
    link.socket = dispatcher_;
    return link;
  }
  if (ways_.share) {
    WorkerLink link;
    link.kind = LinkKind::kProcess;
    link.process =
        FindWorker(WorkerId(worker.value()), grant.worker_incarnation);
    if (link.process != nullptr) return link;
  }
  return ConnectTo(worker);
}

void ServiceLink::Close(std::map<PeerId, WorkerLink>::iterator worker) {
  LeaveMemory(worker->second);
  if (worker->second.kind == LinkKind::kTcp) {
    reactor_.Close(worker->second.socket);
    worker_of_.erase(worker->second.socket);
  }
  workers_.erase(worker);
}

absl::StatusOr<ServiceLink::WorkerLink> ServiceLink::ConnectTo(
    const PeerId& worker) {
  const WorkerAddress place = SplitKey(worker.value());
  const absl::StatusOr<Address> address = ParseAddress(place.address);
  if (!address.ok()) {
    return Annotate(address.status(), "a worker has no usable address");
  }
  std::optional<CurveClient> curve;
  if (security_.has_value()) {
    curve =
        CurveClient{security_->own, place.key, security_->role, Role::kWorker};
  }
  WorkerLink link;
  FM_ASSIGN_OR_RETURN(link.socket,
                      reactor_.Connect(*address, kWorkerLimits, curve));
  // CURVE has its own checksums, and loopback cannot corrupt data.
  link.checksums = !curve.has_value() && !IsLoopback(address->host);
  return link;
}

void ServiceLink::CloseIdle(absl::Time now) {
  if (now < next_close_) return;
  next_close_ = now + kCloseInterval;
  for (auto it = workers_.begin(); it != workers_.end();) {
    const auto worker = it++;
    if (now - worker->second.used >= kWorkerIdle) Close(worker);
  }
}

}  // namespace feedmill
