#ifndef FEEDMILL_CORE_NET_PART_TABLE_H_
#define FEEDMILL_CORE_NET_PART_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace feedmill {

// The part table of a link: the only memory that the reader of a SharedArena
// can write, mapped by both processes. The reader reports here, from any thread
// and without a system call, which entries it has received and which it
// returns. Zeros are the initial state. A corrupt table can only damage the
// reader's own data.
struct PartTable {
  static constexpr size_t kEntries = 4096;
  enum State : uint8_t {
    kLent = 0,  // set by the lender before it sends the message
    kHeld = 1,  // set by the reader when the message arrives
    kBack = 2,  // set by the reader when the last view is released
  };

  // Highest sequence number received; kRetired at the end. An entry of a lower
  // sequence number that is still kLent was lost on its way.
  static constexpr uint64_t kRetired = ~uint64_t{0};
  std::atomic<uint64_t> received;
  alignas(64) std::atomic<uint8_t> states[kEntries];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint8_t>::is_always_lock_free);

// Messages of the local connection, in this order.
struct LinkGreeting {  // reader
  uint64_t nonce = 0;  // of the ShareOffer
};
struct LinkTerms {  // lender, with the descriptors of arena and part table
  uint64_t link = 0;
  uint64_t arena_bytes = 0;
  uint64_t part_table_bytes = 0;
};
inline constexpr std::byte kLinkReady{1};  // reader: both are mapped
// After these, LocalParts: frames of the lender, and messages of the reader
// once the lender has sent one.

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_PART_TABLE_H_
