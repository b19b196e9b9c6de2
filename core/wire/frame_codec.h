#ifndef FEEDMILL_CORE_WIRE_FRAME_CODEC_H_
#define FEEDMILL_CORE_WIRE_FRAME_CODEC_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/wire/codec.h"
#include "core/wire/field_reader.h"
#include "core/wire/field_writer.h"
#include "feedmill/element.h"

// Body and parts of a Frame. Private to core/wire.

namespace feedmill::wire {

// Buffers of at least this size are parts of their own and never copied.
// Smaller ones are copied into part 1, each aligned to kBufferAlignment.
inline constexpr size_t kOwnPartFrom = 64 << 10;

// Writes the body and appends the other parts to `parts`, whose first element
// must be the place of the header.
Body PutFrame(Builder& builder, const Frame& frame, Parts& parts);

// REQUIRES: the table was verified. Errors are stored in `reader`.
Frame ReadFrame(FieldReader& reader, const fb::Frame& frame,
                const Parts& parts);

}  // namespace feedmill::wire

#endif  // FEEDMILL_CORE_WIRE_FRAME_CODEC_H_
