#ifndef FEEDMILL_CORE_WIRE_CODEC_H_
#define FEEDMILL_CORE_WIRE_CODEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/wire/message.h"
#include "core/wire/shared_parts.h"
#include "feedmill/chunk.h"

namespace feedmill {

// The parts of one ZeroMQ message, without routing ids. Part 0 is the
// FlatBuffer header; the parts after it are a frame's buffers, shared with the
// chunk (no copy from 64 KiB up; smaller ones stand together in one part).
using Parts = std::vector<Buffer>;

// Encodes `message` for the cluster `cluster_id` (any text; peers of another
// cluster refuse it). What `lender` lends of a frame's parts is left out; where
// there is none, Frame::packed is sent in their place.
Parts Encode(const Message& message, std::string_view cluster_id,
             PartLender* lender = nullptr);

// Decodes and verifies parts from outside: never crashes, never reads outside
// them, refuses what is malformed (InvalidArgument), of another protocol
// version or cluster (FailedPrecondition, naming both). The chunk of a frame
// shares the parts' memory where it is 8-byte aligned. Shared parts come from
// `borrower`; without one, a frame that has any is refused.
absl::StatusOr<Message> Decode(const Parts& parts, std::string_view cluster_id,
                               PartBorrower* borrower = nullptr);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_CODEC_H_
