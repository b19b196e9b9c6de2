#ifndef FEEDMILL_CORE_WIRE_SHARED_PARTS_H_
#define FEEDMILL_CORE_WIRE_SHARED_PARTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/chunk.h"

// Parts of a message that are not sent, because its receiver sees the memory
// that they lie in. PROTOCOL.md, "Shared memory", has the rules.

namespace feedmill {

struct SharedPart {
  uint32_t part = 0;    // of the message; 0 is the header
  uint32_t ticket = 0;  // given back when nobody looks at it any more
  uint64_t offset = 0;  // in the link's memory
  uint64_t size = 0;
};

struct SharedParts {
  uint64_t link = 0;
  uint64_t sequence = 0;          // of the messages over this link, from 1
  std::vector<SharedPart> parts;  // in increasing order of `part`
};

// The sender's end of a link.
class PartLender {
 public:
  virtual ~PartLender() = default;
  // Which of the parts after the header the peer may take where they lie; the
  // others are sent. They stay as they are until their tickets are back.
  virtual SharedParts Lend(std::span<const Buffer> parts) = 0;
};

// The receiver's.
class PartBorrower {
 public:
  virtual ~PartBorrower() = default;
  // Views of the shared parts; each gives its ticket back when its last copy
  // goes. InvalidArgument for what does not lie in the link's memory.
  virtual absl::StatusOr<std::vector<Buffer>> Borrow(
      const SharedParts& shared) = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_SHARED_PARTS_H_
