#ifndef FEEDMILL_CORE_WIRE_CODEC_H_
#define FEEDMILL_CORE_WIRE_CODEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/wire/message.h"
#include "core/wire/shared_parts.h"
#include "feedmill/element.h"

namespace feedmill {

// The parts of one ZeroMQ message, without routing ids. Part 0 is the
// FlatBuffers header. The other parts are a frame's buffers: buffers of 64
// KiB and more share the chunk's memory, smaller ones are copied into one part.
using Parts = std::vector<Buffer>;

// Encodes `message` for the cluster `cluster_id` (any text; peers of another
// cluster refuse it). Parts of a frame that `lender` lends are not sent.
// Without `lender`, Frame::packed replaces the parts it holds.
Parts Encode(const Message& message, std::string_view cluster_id,
             PartLender* lender = nullptr);

// Decodes and verifies parts from outside: never crashes, never reads outside
// them. InvalidArgument if they are malformed, FailedPrecondition (naming both)
// for another protocol version or cluster. The chunk of a frame shares the
// parts' memory if it is 8-byte aligned. `borrower` resolves shared parts;
// without one, a frame with shared parts is refused.
absl::StatusOr<Message> Decode(const Parts& parts, std::string_view cluster_id,
                               PartBorrower* borrower = nullptr);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_CODEC_H_
