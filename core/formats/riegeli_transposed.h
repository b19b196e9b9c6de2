#ifndef FEEDMILL_CORE_FORMATS_RIEGELI_TRANSPOSED_H_
#define FEEDMILL_CORE_FORMATS_RIEGELI_TRANSPOSED_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/formats/riegeli_chunk.h"
#include "core/formats/riegeli_compression.h"

namespace feedmill {

// Decodes a transposed chunk of Riegeli, in which the fields of protocol
// buffers stand together by their path: appends the records to `values`, and
// sets `ends` to the end of each. DataLoss if it is damaged. Memory and time
// are bounded by multiples of the chunk's data and its decoded bytes.
absl::Status DecodeRiegeliTransposed(const RiegeliChunk& chunk,
                                     RiegeliDecompressor& decompressor,
                                     std::vector<uint64_t>& ends,
                                     BufferBuilder& values);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_RIEGELI_TRANSPOSED_H_
