#include "core/net/arena_loan.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/status.h"

namespace feedmill {

absl::StatusOr<std::unique_ptr<ArenaLoan>> ArenaLoan::Make(
    uint64_t link, std::shared_ptr<SharedArena> arena, uint64_t bytes_max) {
  FM_ASSIGN_OR_RETURN(const int file,
                      MakeSharedFile("feedmill-tickets", sizeof(TicketBoard)));
  OwnedFd fd(file);
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
      0) {
    return ResourceExhausted("cannot seal shared memory: {}",
                             std::strerror(errno));
  }
  FM_ASSIGN_OR_RETURN(Mapping board, Mapping::Of(fd.get(), sizeof(TicketBoard),
                                                 /*writable=*/true));
  return std::unique_ptr<ArenaLoan>(new ArenaLoan(
      link, std::move(arena), bytes_max, std::move(fd), std::move(board)));
}

ArenaLoan::ArenaLoan(uint64_t link, std::shared_ptr<SharedArena> arena,
                     uint64_t bytes_max, OwnedFd board_fd, Mapping board)
    : link_(link),
      arena_(std::move(arena)),
      bytes_max_(bytes_max),
      board_fd_(std::move(board_fd)),
      board_(std::move(board)),
      lent_(TicketBoard::kTickets) {
  for (uint32_t ticket = TicketBoard::kTickets; ticket > 0; --ticket) {
    free_.push_back(ticket - 1);
  }
}

LinkTerms ArenaLoan::terms() const {
  return {link_, arena_->size(), sizeof(TicketBoard)};
}

bool ArenaLoan::retired() const {
  return board().received.load(std::memory_order_acquire) ==
         TicketBoard::kRetired;
}

SharedParts ArenaLoan::Lend(std::span<const Buffer> parts) {
  SharedParts shared{link_, ++sequence_, {}};
  for (size_t k = 1; k < parts.size() && !free_.empty(); ++k) {
    const Buffer& part = parts[k];
    const std::optional<size_t> offset = arena_->OffsetOf(part);
    if (!offset.has_value() || part.size() < BlockSource::kBytesMin ||
        part.size() > bytes_max_ - lent_bytes_) {
      continue;
    }
    const uint32_t ticket = free_.back();
    free_.pop_back();
    in_use_.push_back(ticket);
    lent_bytes_ += part.size();
    lent_[ticket] = {part, sequence_};
    board().states[ticket].store(TicketBoard::kLent, std::memory_order_relaxed);
    shared.parts.push_back(
        {static_cast<uint32_t>(k), ticket, *offset, part.size()});
  }
  return shared;
}

void ArenaLoan::Reap() {
  const uint64_t received = board().received.load(std::memory_order_acquire);
  std::erase_if(in_use_, [&](uint32_t ticket) {
    Lent& lent = lent_[ticket];
    const uint8_t state =
        board().states[ticket].load(std::memory_order_acquire);
    const bool lost = state == TicketBoard::kLent && lent.sequence < received;
    if (state != TicketBoard::kBack && !lost) return false;
    lent_bytes_ -= lent.part.size();
    lent.part = Buffer();
    free_.push_back(ticket);
    return true;
  });
}

}  // namespace feedmill
