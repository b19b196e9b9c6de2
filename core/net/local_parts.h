#ifndef FEEDMILL_CORE_NET_LOCAL_PARTS_H_
#define FEEDMILL_CORE_NET_LOCAL_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/chunk.h"

// Messages of several parts over a local connection (see ListenLocally), each
// one packet. That wakes the thread that waits for it and no other, where a
// ZeroMQ socket wakes one of its own at each end. For this folder only.

namespace feedmill {

// Larger ones are not worth a copy into the kernel and one out of it.
inline constexpr size_t kLocalBytesMax = size_t{32} << 10;  // of all parts
inline constexpr size_t kLocalPartsMax = 64;

struct LocalParts {
  // The sequence number of a message that goes before it and came, or comes,
  // by another way; 0: none.
  uint64_t after = 0;
  std::vector<Buffer> parts;  // empty: nothing is there yet
};

// Never blocks. False: it is too large, or the other end is gone or does not
// read.
bool SendPartsLocally(int connection, uint64_t after,
                      std::span<const Buffer> parts);

// Never blocks. Unavailable: the other end is gone. InvalidArgument: what came
// is no such message.
absl::StatusOr<LocalParts> ReceivePartsLocally(int connection);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_LOCAL_PARTS_H_
