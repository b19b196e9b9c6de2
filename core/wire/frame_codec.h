#ifndef FEEDMILL_CORE_WIRE_FRAME_CODEC_H_
#define FEEDMILL_CORE_WIRE_FRAME_CODEC_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/wire/codec.h"
#include "core/wire/field_reader.h"
#include "core/wire/field_writer.h"
#include "feedmill/chunk.h"

// The body of a Frame and the parts that follow it. Private to core/wire.

namespace feedmill::wire {

// A buffer of at least so many bytes is a part of its own, never copied;
// smaller ones stand together in part 1, each at a multiple of
// kBufferAlignment.
inline constexpr size_t kOwnPartFrom = 64 << 10;

// Writes the body and appends to `parts`, which must hold the place of the
// header already, what follows it.
Body PutFrame(Builder& builder, const Frame& frame, Parts& parts);

// REQUIRES: the table was verified. Faults are left in `reader`.
Frame ReadFrame(FieldReader& reader, const fb::Frame& frame,
                const Parts& parts);

}  // namespace feedmill::wire

#endif  // FEEDMILL_CORE_WIRE_FRAME_CODEC_H_
