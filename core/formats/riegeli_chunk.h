#ifndef FEEDMILL_CORE_FORMATS_RIEGELI_CHUNK_H_
#define FEEDMILL_CORE_FORMATS_RIEGELI_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/chunk/buffer_builder.h"
#include "core/formats/riegeli_compression.h"
#include "core/sources/framing.h"

namespace feedmill {

// A Riegeli/records file is a sequence of chunks. At each multiple of 64 KiB a
// block header interrupts the chunk. Headers and data have hashes.
//
// Errors are DataLoss, say what is wrong with the chunk, and name no place.

inline constexpr uint64_t kRiegeliBlockBytes = uint64_t{1} << 16;
inline constexpr size_t kRiegeliBlockHeaderBytes = 24;
inline constexpr size_t kRiegeliChunkHeaderBytes = 40;
// Bytes in the file of the largest chunk that is read. Records have at most
// kRecordBytesMax; the rest is for their sizes, block headers and padding.
inline constexpr uint64_t kRiegeliChunkBytesMax =
    kRecordBytesMax + kRecordBytesMax / 64;

uint64_t RiegeliHash(std::span<const std::byte> bytes);

// Position behind the first `size` bytes of the chunk that begins at `begin`,
// where block headers are counted.
uint64_t RiegeliPosition(uint64_t begin, uint64_t size);

// Position behind a chunk. `size`: its header and data. A chunk has at least as
// many bytes as records.
uint64_t RiegeliChunkEnd(uint64_t begin, uint64_t size, uint64_t records);

enum class RiegeliChunkType : uint8_t {
  kSignature = 's',
  kMetadata = 'm',
  kPadding = 'p',
  kSimple = 'r',
  kTransposed = 't',
};

struct RiegeliChunk {
  RiegeliChunkType type = RiegeliChunkType::kPadding;
  uint64_t records = 0;
  uint64_t decoded_bytes = 0;  // of all records
  std::string_view data{};     // sound: the hash was compared
};

// Parses the chunk that begins at `begin` in the file. `bytes`: of the file
// from there, at least to the end of the chunk. `memory` holds the data if
// block headers interrupt it.
absl::StatusOr<RiegeliChunk> ParseRiegeliChunk(std::span<const std::byte> bytes,
                                               uint64_t begin,
                                               std::vector<std::byte>& memory);

// Decodes the records of chunks. Keeps memory and the state of decompressors
// from one chunk to the next. Not thread-safe.
class RiegeliDecoder {
 public:
  // Appends the records to `values`, and the end of each, counted from the
  // first, to `ends`. After an error, both may hold more than before.
  absl::Status Decode(const RiegeliChunk& chunk, std::vector<uint64_t>& ends,
                      BufferBuilder& values);

 private:
  absl::Status DecodeSimple(const RiegeliChunk& chunk,
                            std::vector<uint64_t>& ends, BufferBuilder& values);
  absl::Status DecodeSizes(const RiegeliChunk& chunk, uint8_t compression,
                           std::string_view packed,
                           std::vector<uint64_t>& ends);

  RiegeliDecompressor decompressor_;
  std::string sizes_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_RIEGELI_CHUNK_H_
