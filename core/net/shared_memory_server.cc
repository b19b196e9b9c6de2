#include "core/net/shared_memory_server.h"

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

SharedMemoryServer::SharedMemoryServer(Reactor& reactor, uint64_t bytes,
                                       MessageHandler on_message)
    : reactor_(reactor), bytes_(bytes), on_message_(std::move(on_message)) {}

SharedMemoryServer::~SharedMemoryServer() {
  while (!clients_.empty()) Drop(clients_.begin()->first);
  if (listener_.valid()) reactor_.Unwatch(listener_.get());
}

ShareOffer SharedMemoryServer::OnRequest(absl::Time now, std::string_view peer,
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
  std::erase_if(requesters_,
                [&](const auto& entry) { return entry.second.peer == peer; });
  if (requesters_.size() >= kMaxPendingOffers) return {};
  Prepare(now);
  const uint64_t nonce = RandomBits();
  requesters_[nonce] = {std::string(peer), now};
  return {name_, nonce};
}

absl::Status SharedMemoryServer::Open() {
  boot_id_ = BootId();
  name_ = fmt::format("feedmill-{:016x}{:016x}", RandomBits(), RandomBits());
  FM_ASSIGN_OR_RETURN(listener_, ListenLocally(name_));
  reactor_.Watch(listener_.get(), [this] { Accept(); });
  return absl::OkStatus();
}

// Makes the arena for the client that will join. If that fails, Greet tries
// again and reports the error.
void SharedMemoryServer::Prepare(absl::Time now) {
  if (arena_ == nullptr) {
    auto made = SharedArena::Make(bytes_);
    if (!made.ok()) return;
    arena_ = *std::move(made);
  }
  if (!HasLeases()) drop_arena_at_ = now + kKeepArena;
}

bool SharedMemoryServer::HasLeases() const {
  return std::any_of(clients_.begin(), clients_.end(), [](const auto& entry) {
    return entry.second.lease != nullptr;
  });
}

void SharedMemoryServer::Accept() {
  OwnedFd connection = AcceptLocally(listener_.get());
  if (!connection.valid() || !IsOwnUser(connection.get()) ||
      clients_.size() >= kMaxClients) {
    return;
  }
  const int fd = connection.get();
  clients_[fd] = {std::move(connection), reactor_.now(), {}, nullptr, false};
  reactor_.Watch(fd, [this, fd] { OnReadable(fd); });
}

void SharedMemoryServer::OnReadable(int fd) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  Client& client = found->second;
  const absl::Status status =
      client.up ? HandleMessages(client) : Handshake(client);
  if (status.ok()) return;
  LogDebug("a reader no longer shares this worker's memory: {}",
           ErrorText(status));
  Drop(fd);
}

absl::Status SharedMemoryServer::Handshake(Client& client) {
  FM_ASSIGN_OR_RETURN(const LocalMessage message,
                      ReceiveLocally(client.connection.get()));
  if (message.bytes.empty()) return absl::OkStatus();
  if (client.lease == nullptr) {
    LinkGreeting greeting;
    if (message.bytes.size() != sizeof(greeting) || !message.fds.empty()) {
      return InvalidArgument("a greeting of {} bytes", message.bytes.size());
    }
    std::memcpy(&greeting, message.bytes.data(), sizeof(greeting));
    const auto asked = requesters_.find(greeting.nonce);
    if (asked == requesters_.end()) {
      return InvalidArgument("a greeting with an unknown nonce");
    }
    client.peer = std::move(asked->second.peer);
    requesters_.erase(asked);
    if (arena_ == nullptr) {
      FM_ASSIGN_OR_RETURN(arena_, SharedArena::Make(bytes_));
    }
    drop_arena_at_ = absl::InfiniteFuture();
    FM_ASSIGN_OR_RETURN(client.lease, SharedMemoryLease::Make(
                                          RandomBits(), arena_, bytes_ / 2));
    const LinkTerms terms = client.lease->terms();
    return SendLocally(client.connection.get(),
                       std::as_bytes(std::span(&terms, 1)),
                       client.lease->fds());
  }
  if (message.bytes.size() != 1 || message.bytes[0] != kLinkReady ||
      !message.fds.empty()) {
    return InvalidArgument("an unexpected message on the local connection");
  }
  client.up = true;
  by_peer_[client.peer] = &client;
  LogInfo("a reader on this host shares this worker's memory ({} in all)",
          by_peer_.size());
  return absl::OkStatus();
}

// Handles a bounded number of messages of a ready client, so that no client
// starves the others.
absl::Status SharedMemoryServer::HandleMessages(const Client& client) {
  for (int k = 0; k < kMessagesPerTurn; ++k) {
    FM_ASSIGN_OR_RETURN(LocalParts message,
                        ReceivePartsLocally(client.connection.get()));
    if (message.parts.empty()) return absl::OkStatus();
    // Checked for each message: the handler may end the client's link.
    if (on_message_ && IsServed(client)) {
      on_message_(client.peer, std::move(message.parts));
    }
  }
  return absl::OkStatus();
}

// True if the client's link is the current one of its routing id.
bool SharedMemoryServer::IsServed(const Client& client) const {
  const auto found = by_peer_.find(client.peer);
  return found != by_peer_.end() && found->second == &client;
}

void SharedMemoryServer::Drop(int fd) {
  const auto found = clients_.find(fd);
  reactor_.Unwatch(fd);
  if (IsServed(found->second)) by_peer_.erase(found->second.peer);
  clients_.erase(found);
  if (!HasLeases()) drop_arena_at_ = reactor_.now() + kKeepArena;
}

PartLender* SharedMemoryServer::LenderTo(std::string_view peer) const {
  const auto found = by_peer_.find(peer);
  return found == by_peer_.end() || found->second->lease->retired()
             ? nullptr
             : found->second->lease.get();
}

bool SharedMemoryServer::Send(std::string_view peer,
                              const std::vector<Buffer>& parts) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return false;
  Client& client = *found->second;
  const uint64_t sequence = client.lease->sequence();
  if (on_message_ && sequence > client.elsewhere &&
      SendPartsLocally(client.connection.get(), client.elsewhere, parts)) {
    return true;
  }
  client.elsewhere = sequence;
  return false;
}

// Ends the worker's side only. The buffers that the client still reads stay
// valid until the client closes its side.
void SharedMemoryServer::Leave(std::string_view peer) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return;
  shutdown(found->second->connection.get(), SHUT_WR);
  by_peer_.erase(found);
}

std::shared_ptr<BlockSource> SharedMemoryServer::blocks() const {
  return requesters_.empty() && !HasLeases() ? nullptr : arena_;
}

void SharedMemoryServer::OnTurn(absl::Time now) {
  std::vector<int> late;
  for (auto& [fd, client] : clients_) {
    if (client.lease != nullptr) client.lease->Reap();
    if (!client.up && now - client.since > kJoinTime) late.push_back(fd);
  }
  for (const int fd : late) Drop(fd);
  std::erase_if(requesters_, [&](const auto& entry) {
    return now - entry.second.when > kJoinTime;
  });
  if (now >= drop_arena_at_) {
    const size_t bytes = arena_ == nullptr ? 0 : arena_->size();
    ReleaseElsewhere(std::move(arena_), bytes);
    drop_arena_at_ = absl::InfiniteFuture();
  }
}

uint64_t SharedMemoryServer::lent_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [fd, client] : clients_) {
    if (client.lease != nullptr) bytes += client.lease->lent_bytes();
  }
  return bytes;
}

}  // namespace feedmill
