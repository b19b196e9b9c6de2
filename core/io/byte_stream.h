#ifndef FEEDMILL_CORE_IO_BYTE_STREAM_H_
#define FEEDMILL_CORE_IO_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "feedmill/compression.h"

namespace feedmill {

// Bytes one after the other. Not thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `out` as far as there are bytes; fewer only at the end, or before
  // damaged data, which the next call reports: DataLoss, saying what is wrong.
  // Other errors are this machine's. REQUIRES: out is not empty.
  virtual absl::StatusOr<size_t> Read(std::span<std::byte> out) = 0;
};

// Reads bytes of a file from `offset` on: all of `out`, or an error.
using ReadFileAt =
    std::function<absl::Status(uint64_t offset, std::span<std::byte> out)>;

// The bytes [begin, size) of a file as they are, and uncompressed. Several gzip
// members or zstd frames one after the other are one stream, as the formats
// say; a zstd window over 128 MiB is refused. Zeros after a gzip member are
// passed over. Other bytes after it that are no member end the stream, as for
// `gzip -d`: a data warning that names `name`, if that is not empty. Bytes
// after a zstd frame that are no frame are damage, as for `zstd -d`.
std::unique_ptr<ByteStream> MakeByteStream(Compression compression,
                                           ReadFileAt read, uint64_t begin,
                                           uint64_t size,
                                           std::string name = "");

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_BYTE_STREAM_H_
