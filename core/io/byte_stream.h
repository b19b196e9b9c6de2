#ifndef FEEDMILL_CORE_IO_BYTE_STREAM_H_
#define FEEDMILL_CORE_IO_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

// How the bytes of a file become those of its stream.
struct StreamCoding {
  // NOLINTNEXTLINE(google-explicit-constructor): only few need more.
  StreamCoding(Compression kind, int64_t window_log = 0)
      : compression(kind), zstd_window_log(window_log) {}

  Compression compression;
  // Base-2 logarithm of the largest zstd window that is accepted; 0: 27.
  int64_t zstd_window_log;
  // The uncompressed bytes are UTF-16, and become UTF-8 (utf16_stream.h).
  bool utf16 = false;
};

// The bytes [begin, size) of a file as they are, and uncompressed. Several gzip
// members, zstd frames, bz2 streams or xz streams one after the other are one
// stream, as the formats say.
//
// - A zstd window over 2^zstd_window_log and an xz file that needs more than
//   1 GiB to decompress are refused.
// - Zeros after a gzip member are passed over. Other bytes after it, or after a
//   bz2 stream, that begin no other end the stream, as for `gzip -d` and
//   `bzip2 -d`: a data warning that names `name`, if that is not empty.
// - Bytes after a zstd frame or an xz stream that begin no other are damage, as
//   for `zstd -d` and `xz -d`. Zeros after an xz stream are passed over, if
//   their number is a multiple of four.
std::unique_ptr<ByteStream> MakeByteStream(const StreamCoding& coding,
                                           ReadFileAt read, uint64_t begin,
                                           uint64_t size,
                                           std::string name = "");

// A deflated member of a zip archive, and what its directory says of it.
struct DeflatedMember {
  uint64_t begin = 0;  // of its compressed bytes in the file
  uint64_t end = 0;
  uint64_t size = 0;  // of its bytes
  uint32_t crc = 0;
};
// The bytes of a member. DataLoss if they are not those of the directory.
// REQUIRES: the file is longer than member.end.
std::unique_ptr<ByteStream> MakeInflateStream(ReadFileAt read,
                                              const DeflatedMember& member);

// Compression of a file that begins with `bytes`: kNone unless these are the
// beginning of a gzip, zstd, bz2 or xz file. Give kCompressionBytes of them, or
// the whole file if it is shorter.
inline constexpr size_t kCompressionBytes = 16;
Compression CompressionOfBytes(std::string_view bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_BYTE_STREAM_H_
