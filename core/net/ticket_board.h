#ifndef FEEDMILL_CORE_NET_TICKET_BOARD_H_
#define FEEDMILL_CORE_NET_TICKET_BOARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace feedmill {

// The few bytes that the reader of a SharedArena can write, mapped by both: how
// it says, from any thread and without a system call, what it has and what it
// gives back. Zeros are its beginning. The lender trusts nothing that it reads
// here with more than the reader's own data.
struct TicketBoard {
  static constexpr size_t kTickets = 4096;
  enum State : uint8_t {
    kLent = 0,  // set by the lender before it sends the ticket
    kHeld = 1,  // set by the reader when it comes
    kBack = 2,  // set by the reader when nobody looks any more
  };

  // The highest sequence number that came, kRetired in the end. A ticket of a
  // lower one that is still kLent was lost on its way.
  static constexpr uint64_t kRetired = ~uint64_t{0};
  std::atomic<uint64_t> received;
  alignas(64) std::atomic<uint8_t> states[kTickets];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint8_t>::is_always_lock_free);

// What the two say over the local connection, in this order.
struct LinkGreeting {  // reader
  uint64_t nonce = 0;  // of the ShareOffer
};
struct LinkTerms {  // lender, with the descriptors of arena and board
  uint64_t link = 0;
  uint64_t arena_bytes = 0;
  uint64_t board_bytes = 0;
};
inline constexpr std::byte kLinkReady{1};  // reader: both are mapped
// Then messages (LocalParts): the lender's frames, and the reader's once the
// lender has begun.

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_TICKET_BOARD_H_
