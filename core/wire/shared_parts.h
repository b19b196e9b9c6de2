#ifndef FEEDMILL_CORE_WIRE_SHARED_PARTS_H_
#define FEEDMILL_CORE_WIRE_SHARED_PARTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/element.h"

// Parts of a message that are not sent, because its receiver reads them in
// shared memory. PROTOCOL.md, "Shared memory", has the rules.

namespace feedmill {

struct SharedPart {
  uint32_t part = 0;  // index in the message; 0 is the header
  uint32_t entry =
      0;  // of the part table; returned when the last view is released
  uint64_t offset = 0;  // in the link's memory
  uint64_t size = 0;
};

struct SharedParts {
  uint64_t link = 0;
  uint64_t sequence = 0;          // of messages over this link, from 1
  std::vector<SharedPart> parts;  // in increasing order of `part`
};

// The sender's end of a link.
class PartLender {
 public:
  virtual ~PartLender() = default;
  // Selects the parts after the header that the peer reads in place; others are
  // sent. Lent parts stay unchanged until their entries are returned.
  virtual SharedParts Lend(std::span<const Buffer> parts) = 0;
};

// The receiver's end of a link.
class PartBorrower {
 public:
  virtual ~PartBorrower() = default;
  // Returns views of the shared parts; each entry is returned when its last
  // copy is released. InvalidArgument if a part lies outside the link's memory.
  virtual absl::StatusOr<std::vector<Buffer>> Borrow(
      const SharedParts& shared) = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_SHARED_PARTS_H_
