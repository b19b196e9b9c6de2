#ifndef FEEDMILL_CORE_WIRE_PACKING_H_
#define FEEDMILL_CORE_WIRE_PACKING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/piece.h"
#include "core/wire/message.h"
#include "feedmill/chunk.h"

// Parts of frames that are sent smaller than they are. PROTOCOL.md,
// "LinkCompression", has the rules.

namespace feedmill {

// What a message may become, all its parts together; nobody packs more.
inline constexpr uint64_t kUnpackedMax = uint64_t{1} << 30;
// How many bytes a packed one may stand for.
inline constexpr uint64_t kPackedRatioMax = 256;

struct PackedPart {
  uint32_t part = 0;  // of the message; 0 is the header
  LinkCompression codec = LinkCompression::kNone;
  uint64_t size = 0;  // unpacked
  Buffer bytes;
};
struct PackedParts {
  std::vector<PackedPart> parts;  // in increasing order of `part`
  uint64_t raw_bytes = 0;         // of all parts that the piece has
  uint64_t sent_bytes = 0;        // of what is sent for them
};

// Packs what shrinks by an eighth at least; the others travel as they are.
// kZstd is zstd's level 1. Takes time: 1 to 3 ms a MiB.
// REQUIRES: codec is kLz4 or kZstd.
std::shared_ptr<const PackedParts> PackParts(const Piece& piece,
                                             LinkCompression codec);

// The `size` bytes that `packed` stands for. InvalidArgument where it does not
// stand for exactly so many; more than kPackedRatioMax times its size, or
// kUnpackedMax, is refused before anything is done.
absl::StatusOr<Buffer> UnpackPart(LinkCompression codec, const Buffer& packed,
                                  uint64_t size);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_PACKING_H_
