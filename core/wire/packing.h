#ifndef FEEDMILL_CORE_WIRE_PACKING_H_
#define FEEDMILL_CORE_WIRE_PACKING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/piece.h"
#include "core/wire/message.h"
#include "feedmill/element.h"

// Compressed parts of frames. PROTOCOL.md, "Compression", has the rules.

namespace feedmill {

// Maximum unpacked size of a message, all parts together.
inline constexpr uint64_t kUnpackedMax = uint64_t{1} << 30;
// Maximum compression ratio that a packed part may have.
inline constexpr uint64_t kPackedRatioMax = 256;

struct PackedPart {
  uint32_t part = 0;  // index in the message; 0 is the header
  LinkCompression codec = LinkCompression::kNone;
  uint64_t size = 0;  // unpacked
  Buffer bytes;
};
struct PackedParts {
  std::vector<PackedPart> parts;  // in increasing order of `part`
  uint64_t raw_bytes = 0;         // of all parts of the piece
  uint64_t sent_bytes = 0;        // of the parts as sent
};

// Packs the parts that shrink by at least an eighth; others are sent unchanged.
// kZstd uses level 1. Takes 1 to 3 ms per MiB.
// REQUIRES: codec is kLz4 or kZstd.
std::shared_ptr<const PackedParts> PackParts(const Piece& piece,
                                             LinkCompression codec);

// Unpacks a part of `size` bytes. InvalidArgument if it has another size. A
// size above kPackedRatioMax times the packed size, or above kUnpackedMax, is
// refused before any work is done.
absl::StatusOr<Buffer> UnpackPart(LinkCompression codec, const Buffer& packed,
                                  uint64_t size);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_PACKING_H_
