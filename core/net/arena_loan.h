#ifndef FEEDMILL_CORE_NET_ARENA_LOAN_H_
#define FEEDMILL_CORE_NET_ARENA_LOAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/net/shared_arena.h"
#include "core/net/shared_file.h"
#include "core/net/ticket_board.h"
#include "core/wire/shared_parts.h"

namespace feedmill {

// A worker's end of a link: what one client has of the arena. It lends a part
// of the arena under a ticket, and keeps it until the ticket is back, or lost,
// or the link ends.
//
// Thread: the reactor's.
class ArenaLoan : public PartLender {
 public:
  // Lends `bytes_max` at a time.
  static absl::StatusOr<std::unique_ptr<ArenaLoan>> Make(
      uint64_t link, std::shared_ptr<SharedArena> arena, uint64_t bytes_max);

  uint64_t link() const { return link_; }
  uint64_t lent_bytes() const { return lent_bytes_; }
  LinkTerms terms() const;
  // The sequence number of what was lent last; 0: nothing yet.
  uint64_t sequence() const { return sequence_; }
  // Whether the client has said that no more shall come over this link.
  bool retired() const;
  // To hand to the client, in this order: the arena's, the board's.
  std::vector<int> fds() const { return {arena_->fd(), board_fd_.get()}; }

  // Large parts that lie in the arena, as far as tickets and bytes last.
  SharedParts Lend(std::span<const Buffer> parts) override;
  // Takes back what the client gave back, or never had.
  void Reap();

 private:
  struct Lent {
    Buffer part;
    uint64_t sequence = 0;
  };

  ArenaLoan(uint64_t link, std::shared_ptr<SharedArena> arena,
            uint64_t bytes_max, OwnedFd board_fd, Mapping board);
  TicketBoard& board() const {
    return *reinterpret_cast<TicketBoard*>(board_.data());
  }

  const uint64_t link_;
  const std::shared_ptr<SharedArena> arena_;
  const uint64_t bytes_max_;
  const OwnedFd board_fd_;
  const Mapping board_;
  std::vector<Lent> lent_;        // by ticket
  std::vector<uint32_t> free_;    // tickets, the last one first
  std::vector<uint32_t> in_use_;  // tickets
  uint64_t lent_bytes_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_ARENA_LOAN_H_
