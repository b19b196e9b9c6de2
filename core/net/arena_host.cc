#include "core/net/arena_host.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "core/base/status.h"
#include "core/net/local_parts.h"
#include "core/net/log.h"
#include "core/net/release_thread.h"

namespace feedmill {
namespace {

constexpr size_t kMaxPendingOffers = 256;
constexpr size_t kMaxClients = 1'024;
constexpr int kMessagesPerTurn = 64;
constexpr absl::Duration kJoinTime = absl::Seconds(5);
// The arena is kept this long for the next reader, which saves touching its
// pages again.
constexpr absl::Duration kKeepArena = absl::Seconds(10);

uint64_t RandomBits() {
  std::random_device device;
  return std::uniform_int_distribution<uint64_t>()(device);
}

}  // namespace

ArenaHost::ArenaHost(Reactor& reactor, uint64_t bytes, Heard heard)
    : reactor_(reactor), bytes_(bytes), heard_(std::move(heard)) {}

ArenaHost::~ArenaHost() {
  while (!guests_.empty()) Drop(guests_.begin()->first);
  if (listener_.valid()) reactor_.Unwatch(listener_.get());
}

ShareOffer ArenaHost::OnRequest(absl::Time now, std::string_view peer,
                                const ShareRequest& request) {
  if (bytes_ == 0 || failed_) return {};
  // The peer has no link, or has given up its previous one.
  const auto linked = by_peer_.find(peer);
  if (linked != by_peer_.end()) by_peer_.erase(linked);
  if (!listener_.valid()) {
    const absl::Status opened = Open();
    if (!opened.ok()) {
      failed_ = true;
      LogWarning("no shared memory: {}", ErrorText(opened));
      return {};
    }
  }
  if (boot_id_.empty() || request.boot_id != boot_id_) return {};
  std::erase_if(asked_,
                [&](const auto& entry) { return entry.second.peer == peer; });
  if (asked_.size() >= kMaxPendingOffers) return {};
  Prepare(now);
  const uint64_t nonce = RandomBits();
  asked_[nonce] = {std::string(peer), now};
  return {name_, nonce};
}

absl::Status ArenaHost::Open() {
  boot_id_ = BootId();
  name_ = fmt::format("feedmill-{:016x}{:016x}", RandomBits(), RandomBits());
  FM_ASSIGN_OR_RETURN(listener_, ListenLocally(name_));
  reactor_.Watch(listener_.get(), [this] { Accept(); });
  return absl::OkStatus();
}

// Makes the arena for the client that will join. If that fails, Greet tries
// again and reports the error.
void ArenaHost::Prepare(absl::Time now) {
  if (arena_ == nullptr) {
    auto made = SharedArena::Make(bytes_);
    if (!made.ok()) return;
    arena_ = *std::move(made);
  }
  if (!HasLoans()) drop_arena_at_ = now + kKeepArena;
}

bool ArenaHost::HasLoans() const {
  return std::any_of(guests_.begin(), guests_.end(), [](const auto& entry) {
    return entry.second.loan != nullptr;
  });
}

void ArenaHost::Accept() {
  OwnedFd connection = AcceptLocally(listener_.get());
  if (!connection.valid() || !IsOwnUser(connection.get()) ||
      guests_.size() >= kMaxClients) {
    return;
  }
  const int fd = connection.get();
  guests_[fd] = {std::move(connection), reactor_.now(), {}, nullptr, false};
  reactor_.Watch(fd, [this, fd] { OnReadable(fd); });
}

void ArenaHost::OnReadable(int fd) {
  const auto found = guests_.find(fd);
  if (found == guests_.end()) return;
  Guest& guest = found->second;
  const absl::Status status = guest.up ? Hear(guest) : Greet(guest);
  if (status.ok()) return;
  LogDebug("a reader no longer shares this worker's memory: {}",
           ErrorText(status));
  Drop(fd);
}

absl::Status ArenaHost::Greet(Guest& guest) {
  FM_ASSIGN_OR_RETURN(const LocalMessage message,
                      ReceiveLocally(guest.connection.get()));
  if (message.bytes.empty()) return absl::OkStatus();
  if (guest.loan == nullptr) {
    LinkGreeting greeting;
    if (message.bytes.size() != sizeof(greeting) || !message.fds.empty()) {
      return InvalidArgument("a greeting of {} bytes", message.bytes.size());
    }
    std::memcpy(&greeting, message.bytes.data(), sizeof(greeting));
    const auto asked = asked_.find(greeting.nonce);
    if (asked == asked_.end()) {
      return InvalidArgument("a greeting with an unknown nonce");
    }
    guest.peer = std::move(asked->second.peer);
    asked_.erase(asked);
    if (arena_ == nullptr) {
      FM_ASSIGN_OR_RETURN(arena_, SharedArena::Make(bytes_));
    }
    drop_arena_at_ = absl::InfiniteFuture();
    FM_ASSIGN_OR_RETURN(guest.loan,
                        ArenaLoan::Make(RandomBits(), arena_, bytes_ / 2));
    const LinkTerms terms = guest.loan->terms();
    return SendLocally(guest.connection.get(),
                       std::as_bytes(std::span(&terms, 1)), guest.loan->fds());
  }
  if (message.bytes.size() != 1 || message.bytes[0] != kLinkReady ||
      !message.fds.empty()) {
    return InvalidArgument("an unexpected message on the local connection");
  }
  guest.up = true;
  by_peer_[guest.peer] = &guest;
  LogInfo("a reader on this host shares this worker's memory ({} in all)",
          by_peer_.size());
  return absl::OkStatus();
}

// Handles a bounded number of messages of a ready guest, so that no guest
// starves the others.
absl::Status ArenaHost::Hear(const Guest& guest) {
  for (int k = 0; k < kMessagesPerTurn; ++k) {
    FM_ASSIGN_OR_RETURN(LocalParts message,
                        ReceivePartsLocally(guest.connection.get()));
    if (message.parts.empty()) return absl::OkStatus();
    // Checked for each message: the handler may end the guest's link.
    if (heard_ && IsServed(guest)) heard_(guest.peer, std::move(message.parts));
  }
  return absl::OkStatus();
}

// True if the guest's link is the current one of its routing id.
bool ArenaHost::IsServed(const Guest& guest) const {
  const auto found = by_peer_.find(guest.peer);
  return found != by_peer_.end() && found->second == &guest;
}

void ArenaHost::Drop(int fd) {
  const auto found = guests_.find(fd);
  reactor_.Unwatch(fd);
  if (IsServed(found->second)) by_peer_.erase(found->second.peer);
  guests_.erase(found);
  if (!HasLoans()) drop_arena_at_ = reactor_.now() + kKeepArena;
}

PartLender* ArenaHost::LenderTo(std::string_view peer) const {
  const auto found = by_peer_.find(peer);
  return found == by_peer_.end() || found->second->loan->retired()
             ? nullptr
             : found->second->loan.get();
}

bool ArenaHost::Send(std::string_view peer, const std::vector<Buffer>& parts) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return false;
  Guest& guest = *found->second;
  const uint64_t sequence = guest.loan->sequence();
  if (heard_ && sequence > guest.elsewhere &&
      SendPartsLocally(guest.connection.get(), guest.elsewhere, parts)) {
    return true;
  }
  guest.elsewhere = sequence;
  return false;
}

// Ends the worker's side only. The buffers that the client still reads stay
// valid until the client closes its side.
void ArenaHost::Leave(std::string_view peer) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return;
  shutdown(found->second->connection.get(), SHUT_WR);
  by_peer_.erase(found);
}

std::shared_ptr<BlockSource> ArenaHost::blocks() const {
  return asked_.empty() && !HasLoans() ? nullptr : arena_;
}

void ArenaHost::OnTurn(absl::Time now) {
  std::vector<int> late;
  for (auto& [fd, guest] : guests_) {
    if (guest.loan != nullptr) guest.loan->Reap();
    if (!guest.up && now - guest.since > kJoinTime) late.push_back(fd);
  }
  for (const int fd : late) Drop(fd);
  std::erase_if(asked_, [&](const auto& entry) {
    return now - entry.second.when > kJoinTime;
  });
  if (now >= drop_arena_at_) {
    const size_t bytes = arena_ == nullptr ? 0 : arena_->size();
    ReleaseElsewhere(std::move(arena_), bytes);
    drop_arena_at_ = absl::InfiniteFuture();
  }
}

uint64_t ArenaHost::lent_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [fd, guest] : guests_) {
    if (guest.loan != nullptr) bytes += guest.loan->lent_bytes();
  }
  return bytes;
}

}  // namespace feedmill
