#include "core/net/shared_memory_client.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/net/local_parts.h"
#include "core/net/log.h"

namespace feedmill {

absl::StatusOr<std::shared_ptr<SharedMemoryClient>> SharedMemoryClient::Join(
    const ShareOffer& offer) {
  FM_ASSIGN_OR_RETURN(OwnedFd connection, ConnectLocally(offer.socket_name));
  if (!IsOwnUser(connection.get())) {
    return Unavailable("the worker on this host runs as another user");
  }
  const LinkGreeting greeting{offer.nonce};
  FM_RETURN_IF_ERROR(SendLocally(connection.get(),
                                 std::as_bytes(std::span(&greeting, 1)), {}));
  return std::shared_ptr<SharedMemoryClient>(
      new SharedMemoryClient(std::move(connection)));
}

SharedMemoryClient::SharedMemoryClient(OwnedFd connection)
    : connection_(std::move(connection)), process_(getpid()) {}

SharedMemoryClient::State SharedMemoryClient::OnReadable() {
  absl::StatusOr<LocalMessage> message = ReceiveLocally(connection_.get());
  if (message.ok() && message->bytes.empty()) return state_;
  absl::Status status = message.status();
  if (status.ok()) {
    status =
        state_ == State::kJoining
            ? TakeTerms(*message)
            : InvalidArgument("an unexpected message on the local connection");
  }
  if (!status.ok()) {
    LogDebug("the link to a worker's memory ends: {}", ErrorText(status));
  }
  state_ = status.ok() ? State::kUp : State::kLost;
  return state_;
}

absl::Status SharedMemoryClient::TakeTerms(const LocalMessage& message) {
  LinkTerms terms;
  if (message.bytes.size() != sizeof(terms) || message.fds.size() != 2) {
    return InvalidArgument("terms of {} bytes and {} descriptors",
                           message.bytes.size(), message.fds.size());
  }
  std::memcpy(&terms, message.bytes.data(), sizeof(terms));
  if (terms.part_table_bytes < sizeof(PartTable)) {
    return InvalidArgument("a part table of {} bytes", terms.part_table_bytes);
  }
  FM_ASSIGN_OR_RETURN(arena_,
                      Mapping::Of(message.fds[0].get(), terms.arena_bytes,
                                  /*writable=*/false));
  FM_ASSIGN_OR_RETURN(part_table_,
                      Mapping::Of(message.fds[1].get(), terms.part_table_bytes,
                                  /*writable=*/true));
  link_ = terms.link;
  return SendLocally(connection_.get(), {&kLinkReady, 1}, {});
}

void SharedMemoryClient::Retire() {
  if (state_ == State::kUp) {
    part_table().received.store(PartTable::kRetired, std::memory_order_release);
  }
  state_ = State::kLost;
}

std::vector<Buffer> SharedMemoryClient::Next() {
  if (state_ != State::kUp) return {};
  while (early_.empty() || early_.front().after > received_) {
    absl::StatusOr<LocalParts> message = ReceivePartsLocally(connection_.get());
    if (message.ok() && message->parts.empty()) return {};
    if (message.ok() && early_.size() == kEarlyMax) {
      message = ResourceExhausted("message {}, which {} follow, has not come",
                                  early_.front().after, kEarlyMax);
    }
    if (!message.ok()) {
      LogDebug("the link to a worker's memory ends: {}",
               ErrorText(message.status()));
      state_ = State::kLost;
      return {};
    }
    early_.push_back(*std::move(message));
    carries_ = true;
  }
  std::vector<Buffer> parts = std::move(early_.front().parts);
  early_.pop_front();
  return parts;
}

bool SharedMemoryClient::Send(const std::vector<Buffer>& parts) {
  return state_ == State::kUp && carries_ &&
         SendPartsLocally(connection_.get(), 0, parts);
}

absl::StatusOr<std::vector<Buffer>> SharedMemoryClient::Borrow(
    const SharedParts& shared) {
  if (state_ != State::kUp || shared.link != link_ ||
      shared.sequence <= received_) {
    return InvalidArgument(
        "message {} of link {:016x} does not belong to the link {:016x}, which "
        "is at {}",
        shared.sequence, shared.link, link_, received_);
  }
  used_ = true;
  std::vector<Buffer> borrowed;
  absl::Status wrong;
  for (const SharedPart& part : shared.parts) {
    absl::StatusOr<Buffer> buffer = BorrowOne(part);
    if (buffer.ok()) {
      borrowed.push_back(*std::move(buffer));
    } else {
      wrong = buffer.status();
    }
  }
  // Store after the entries: an entry of an older sequence that is not held
  // counts as lost.
  received_ = shared.sequence;
  part_table().received.store(received_, std::memory_order_release);
  FM_RETURN_IF_ERROR(wrong);
  return borrowed;
}

absl::StatusOr<Buffer> SharedMemoryClient::BorrowOne(const SharedPart& part) {
  if (part.entry >= PartTable::kEntries || part.offset > arena_.size() ||
      part.size > arena_.size() - part.offset) {
    return InvalidArgument(
        "{} bytes at {} under entry {} do not lie in the {} bytes shared",
        part.size, part.offset, part.entry, arena_.size());
  }
  part_table().states[part.entry].store(PartTable::kHeld,
                                        std::memory_order_release);
  const std::byte* const data = arena_.data() + part.offset;
  std::shared_ptr<const void> owner(
      data, [link = shared_from_this(), entry = part.entry](const void*) {
        link->GiveBack(entry);
      });
  return Buffer(std::move(owner), data, part.size);
}

// The part table is shared across a fork: the parent still uses what its child
// releases.
void SharedMemoryClient::GiveBack(uint32_t entry) const {
  if (getpid() != process_) return;
  part_table().states[entry].store(PartTable::kBack, std::memory_order_release);
}

}  // namespace feedmill
