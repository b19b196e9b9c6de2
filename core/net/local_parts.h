#ifndef FEEDMILL_CORE_NET_LOCAL_PARTS_H_
#define FEEDMILL_CORE_NET_LOCAL_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/element.h"

// Multi-part messages over a local connection (see ListenLocally), one packet
// each. Such a packet wakes only the thread that waits for it, whereas ZeroMQ
// also wakes one I/O thread at each end. Private to core/net.

namespace feedmill {

// Size limit. Larger messages are not worth copying into and out of the kernel.
inline constexpr size_t kLocalBytesMax = size_t{32} << 10;  // of all parts
inline constexpr size_t kLocalPartsMax = 64;

struct LocalParts {
  // Sequence number of an earlier message that travels another way and must be
  // handled first; 0: none.
  uint64_t after = 0;
  std::vector<Buffer> parts;  // empty: no message has arrived
};

// Never blocks. Returns false if the message is too large, or the peer is gone
// or does not read.
bool SendPartsLocally(int connection, uint64_t after,
                      std::span<const Buffer> parts);

// Never blocks. Unavailable: the peer is gone. InvalidArgument: the packet is
// malformed.
absl::StatusOr<LocalParts> ReceivePartsLocally(int connection);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_LOCAL_PARTS_H_
