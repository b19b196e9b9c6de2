#ifndef FEEDMILL_CORE_FORMATS_RIEGELI_COMPRESSION_H_
#define FEEDMILL_CORE_FORMATS_RIEGELI_COMPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

enum class RiegeliCompression : uint8_t {
  kNone = 0,
  kBrotli = 'b',
  kZstd = 'z',
  kSnappy = 's',
};

// A buffer of a Riegeli chunk.
struct RiegeliBuffer {
  uint64_t size = 0;  // decompressed, as the file says
  std::string_view packed{};
};

// Reads the size in front of a compressed buffer. An uncompressed one has none.
absl::StatusOr<RiegeliBuffer> ParseRiegeliBuffer(RiegeliCompression compression,
                                                 std::string_view bytes);

// Decompresses buffers. Not thread-safe.
class RiegeliDecompressor {
 public:
  RiegeliDecompressor();
  RiegeliDecompressor(const RiegeliDecompressor&) = delete;
  RiegeliDecompressor& operator=(const RiegeliDecompressor&) = delete;
  ~RiegeliDecompressor();

  // Fills `out`, which has the size of the buffer. DataLoss if its bytes are
  // damaged or have another size, or if there is no such compression.
  absl::Status Decompress(RiegeliCompression compression,
                          const RiegeliBuffer& buffer, std::span<char> out);

 private:
  struct Zstd;
  const std::unique_ptr<Zstd> zstd_;
};

// Decompresses a block of snappy without a frame. Returns false if it is
// damaged, or does not fill `out`.
bool DecompressSnappy(std::string_view packed, std::span<char> out);

// Decompresses the first bytes of a block of snappy, up to the size of `out`.
// Returns the number of bytes of `out` that are known from them. Stops at
// damaged bytes.
size_t DecompressSnappyBeginning(std::string_view packed, std::span<char> out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_RIEGELI_COMPRESSION_H_
