#include "client/worker_links.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/net/log.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {
namespace {

constexpr size_t kWorkersMax = 32;
constexpr size_t kReportsMax = 256;
constexpr absl::Duration kWorkerIdle = absl::Seconds(10);
constexpr absl::Duration kCloseInterval = absl::Seconds(1);
constexpr absl::Duration kUnreachableAfter = absl::Seconds(2);
// Time to wait for a worker to offer its memory, or for its next frame to use
// it, before asking again.
constexpr absl::Duration kAskForMemoryInterval = absl::Seconds(1);
// Fewer bytes between two heartbeats are no large frame.
constexpr uint64_t kArrivingBytes = uint64_t{64} << 10;
constexpr Reactor::Limits kWorkerLimits{int64_t{4} << 30, 1'000};

}  // namespace

WorkerLinks::WorkerLinks(Reactor& reactor, Messenger& messenger,
                         const std::optional<Security>& security,
                         Transports transports,
                         std::shared_ptr<InProcessChannel> channel,
                         OnLocal on_local)
    : reactor_(reactor),
      messenger_(messenger),
      security_(security),
      transports_(std::move(transports)),
      channel_(std::move(channel)),
      on_local_(std::move(on_local)),
      boot_id_(transports_.share && !transports_.via_dispatcher ? BootId()
                                                                : "") {}

WorkerLinks::~WorkerLinks() {
  channel_->Close();
  for (auto& [worker, link] : links_) LeaveMemory(link);
}

void WorkerLinks::Send(const PeerId& worker, Grant grant) {
  Link* const link = Reach(worker, grant);
  if (link == nullptr) return;  // repeated with the next heartbeat
  link->used = reactor_.now();
  grant.profile = transports_.profile != nullptr;
  if (link->kind == LinkKind::kProcess) {
    // If the worker is gone, connect to its next incarnation later.
    if (!link->process->Put(channel_, std::move(grant))) {
      Close(links_.find(worker));
    }
    return;
  }
  grant.compression = transports_.compression;
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
WorkerLinks::Link* WorkerLinks::Reach(const PeerId& worker,
                                      const Grant& grant) {
  const auto found = links_.find(worker);
  const absl::Time now = reactor_.now();
  if (found != links_.end()) return &found->second;
  if (links_.size() >= kWorkersMax) {
    const auto oldest = std::min_element(links_.begin(), links_.end(),
                                         [](const auto& a, const auto& b) {
                                           return a.second.used < b.second.used;
                                         });
    if (!grant.head && now - oldest->second.used < kCloseInterval) {
      return nullptr;
    }
    Close(oldest);
  }
  absl::StatusOr<Link> opened = Open(worker, grant);
  if (!opened.ok()) {
    LogWarning("{}", ErrorText(opened.status()));
    return nullptr;
  }
  Link& link = links_[worker] = *std::move(opened);
  if (link.kind == LinkKind::kTcp) worker_of_.emplace(link.socket, worker);
  link.used = link.ask_at = now;
  AskForMemory(now, link);
  return &link;
}

absl::StatusOr<WorkerLinks::Link> WorkerLinks::Open(const PeerId& worker,
                                                    const Grant& grant) {
  if (transports_.via_dispatcher) {
    Link link;
    link.kind = LinkKind::kRelay;
    link.socket = dispatcher_;
    return link;
  }
  if (transports_.share) {
    Link link;
    link.kind = LinkKind::kProcess;
    link.process =
        FindWorker(WorkerId(worker.value()), grant.worker_incarnation);
    if (link.process != nullptr) return link;
  }
  return ConnectTo(worker);
}

void WorkerLinks::Close(Links::iterator worker) {
  LeaveMemory(worker->second);
  if (worker->second.kind == LinkKind::kTcp) {
    reactor_.Close(worker->second.socket);
    worker_of_.erase(worker->second.socket);
  }
  links_.erase(worker);
}

absl::StatusOr<WorkerLinks::Link> WorkerLinks::ConnectTo(const PeerId& worker) {
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
  Link link;
  FM_ASSIGN_OR_RETURN(link.socket,
                      reactor_.Connect(*address, kWorkerLimits, curve));
  // CURVE has its own checksums, and loopback cannot corrupt data.
  link.checksums = !curve.has_value() && !IsLoopback(address->host);
  return link;
}

void WorkerLinks::CloseIdle(absl::Time now) {
  if (now < next_close_) return;
  next_close_ = now + kCloseInterval;
  for (auto it = links_.begin(); it != links_.end();) {
    const auto worker = it++;
    if (now - worker->second.used >= kWorkerIdle) Close(worker);
  }
}

const PeerId* WorkerLinks::WorkerAt(SocketId socket) const {
  const auto named = worker_of_.find(socket);
  return named == worker_of_.end() ? nullptr : &named->second;
}

std::optional<WorkerLinks::Route> WorkerLinks::RouteFrom(
    const PeerId& worker) const {
  const auto found = links_.find(worker);
  if (found == links_.end()) return std::nullopt;
  return Route{found->second.socket, found->second.memory};
}

bool WorkerLinks::NoteMessage(absl::Time now, const PeerId& worker,
                              const Frame* frame) {
  const auto found = links_.find(worker);
  if (found == links_.end()) return false;
  if (frame != nullptr) Count(worker, found->second, *frame);
  AskForMemory(now, found->second);
  return true;
}

void WorkerLinks::Count(const PeerId& worker, const Link& link,
                        const Frame& frame) {
  const Chunk& chunk = frame.piece.chunk;
  if (transports_.profile != nullptr && frame.costs != nullptr) {
    for (const StepCost& cost : *frame.costs) {
      transports_.profile->AddWork(
          PlaceOfFrame(cost.place),
          {static_cast<double>(cost.wall_ns) * 1e-9,
           static_cast<double>(cost.cpu_ns) * 1e-9, cost.rows_in, cost.rows_out,
           cost.bytes_out});
    }
  }
  const std::lock_guard lock(mu_);
  if (reports_.size() >= kReportsMax && !reports_.contains(worker)) return;
  LinkReport& report = reports_[worker];
  report.worker = worker.value();
  report.kind = link.memory != nullptr &&
                        link.memory->state() == SharedMemoryClient::State::kUp
                    ? LinkKind::kMemory
                    : link.kind;
  report.compression = frame.came;
  ++report.frames;
  if (chunk.rows > 0) report.element_bytes += chunk.ElementBytes();
  report.wire_bytes += frame.wire_bytes;
}

std::vector<LinkReport> WorkerLinks::Reports() const {
  const std::lock_guard lock(mu_);
  std::vector<LinkReport> reports;
  reports.reserve(reports_.size());
  for (const auto& [worker, report] : reports_) reports.push_back(report);
  return reports;
}

// A frame of a large element takes longer than the time after which a stream
// without a frame is opened again.
void WorkerLinks::ForEachArriving(
    const std::function<void(const PeerId&)>& arriving) {
  for (auto& [worker, link] : links_) {
    if (link.kind == LinkKind::kProcess) continue;
    const std::optional<uint64_t> bytes = reactor_.ReceivedBytes(link.socket);
    if (bytes && link.received && *bytes >= *link.received + kArrivingBytes) {
      arriving(worker);
    }
    link.received = bytes;
  }
}

WorkerLinks::Faults WorkerLinks::FindFaults() const {
  Faults faults;
  for (const auto& [worker, link] : links_) {
    if (link.kind == LinkKind::kTcp && security_.has_value()) {
      absl::Status why = reactor_.HandshakeFailure(link.socket);
      if (absl::IsFailedPrecondition(why)) faults.refused = std::move(why);
    }
    if (link.stuck_since < faults.unreachable_since) {
      faults.unreachable = SplitKey(worker.value()).address;
      faults.unreachable_since = link.stuck_since;
    }
  }
  return faults;
}

std::vector<std::string> WorkerLinks::Unreachable() const {
  const absl::Time now = reactor_.now();
  std::vector<std::string> names;
  for (const auto& [worker, link] : links_) {
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

// If a worker no longer uses a link, the connection was made again and the
// worker knows this client by another routing id.
void WorkerLinks::AskForMemory(absl::Time now, Link& link) {
  if (link.memory != nullptr && link.memory->Used()) {
    link.ask_at = now + kAskForMemoryInterval;
  }
  if (boot_id_.empty() || link.kind != LinkKind::kTcp || now < link.ask_at) {
    return;
  }
  LeaveMemory(link);
  link.ask_at = now + kAskForMemoryInterval;
  messenger_.Send(link.socket, "", ShareRequest{boot_id_});
}

void WorkerLinks::OnOffer(const PeerId& worker, const ShareOffer& offer) {
  const auto found = links_.find(worker);
  if (found == links_.end()) return;
  Link& link = found->second;
  if (link.memory != nullptr || boot_id_.empty()) return;
  absl::StatusOr<std::shared_ptr<SharedMemoryClient>> joined =
      offer.socket_name.empty()
          ? Unavailable("it is on another host, or shares nothing")
          : SharedMemoryClient::Join(offer);
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

void WorkerLinks::OnMemoryReadable(const PeerId& worker) {
  const auto found = links_.find(worker);
  if (found == links_.end()) return;
  Link& link = found->second;
  if (link.memory == nullptr) return;
  if (link.memory->state() == SharedMemoryClient::State::kJoining) {
    if (link.memory->OnReadable() == SharedMemoryClient::State::kLost)
      LeaveMemory(link);
  } else {
    on_local_(worker);
  }
}

void WorkerLinks::NoteLocalRead(absl::Time now, const PeerId& worker) {
  const auto found = links_.find(worker);
  if (found == links_.end() || found->second.memory == nullptr) return;
  Link& link = found->second;
  link.waits_since = link.memory->waits() ? std::min(link.waits_since, now)
                                          : absl::InfiniteFuture();
  if (link.memory->state() == SharedMemoryClient::State::kLost ||
      now - link.waits_since >= kAskForMemoryInterval) {
    LeaveMemory(link);
  }
}

void WorkerLinks::LeaveMemory(Link& link) {
  if (link.memory == nullptr) return;
  reactor_.Unwatch(link.memory->fd());
  link.memory->Retire();
  link.memory.reset();
  link.waits_since = absl::InfiniteFuture();
}

}  // namespace feedmill
