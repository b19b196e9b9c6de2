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
#include "feedmill/dataset_options.h"

namespace feedmill {

// A sequence of bytes, read from beginning to end. Not thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `out` and returns the number of bytes. Returns fewer only at the end,
  // or before damaged data. The call after that returns DataLoss with the
  // reason. Any other error is a fault of this machine. REQUIRES: out is not
  // empty.
  virtual absl::StatusOr<size_t> Read(std::span<std::byte> out) = 0;
};

// Reads bytes of a file from `offset`: fills all of `out`, or fails.
using ReadFileAt =
    std::function<absl::Status(uint64_t offset, std::span<std::byte> out)>;

// Decoding steps that turn the bytes of a file into the bytes of its stream.
struct StreamCoding {
  // NOLINTNEXTLINE(google-explicit-constructor): most callers have a kind only.
  StreamCoding(Compression kind, int64_t window_log = 0)
      : compression(kind), zstd_window_log(window_log) {}

  Compression compression;
  // Base-2 logarithm of the largest accepted zstd window. 0 stands for 27.
  int64_t zstd_window_log;
  // True if the uncompressed bytes are UTF-16. The stream is then UTF-8
  // (utf16_stream.h).
  bool utf16 = false;
};

// Returns the bytes [begin, size) of a file, uncompressed. Successive gzip
// members, zstd frames, bz2 streams or xz streams are one stream, as the
// formats say.
//
// - A zstd window over 2^zstd_window_log and an xz file that needs more than
//   1 GiB to decompress are refused.
// - Zeros after a gzip member are skipped. Other bytes after a gzip member or a
//   bz2 stream end the stream if they begin no new one, as for `gzip -d` and
//   `bzip2 -d`. A data warning names `name`, unless it is empty.
// - Bytes after a zstd frame or an xz stream are damage if they begin no new
//   one, as for `zstd -d` and `xz -d`. Zeros after an xz stream are skipped if
//   their number is a multiple of four.
std::unique_ptr<ByteStream> MakeByteStream(const StreamCoding& coding,
                                           ReadFileAt read, uint64_t begin,
                                           uint64_t size,
                                           std::string name = "");

// A deflated member of a zip archive, as the archive's directory describes it.
struct DeflatedMember {
  uint64_t begin = 0;  // offset of its compressed bytes in the file
  uint64_t end = 0;
  uint64_t size = 0;  // uncompressed bytes
  uint32_t crc = 0;
};
// Returns the uncompressed bytes of a member. DataLoss if their size or CRC
// differs from the directory. REQUIRES: the file is longer than member.end.
std::unique_ptr<ByteStream> MakeInflateStream(ReadFileAt read,
                                              const DeflatedMember& member);

// Returns the compression of a file that begins with `bytes`. Returns kNone
// unless they begin a gzip, zstd, bz2 or xz file. REQUIRES: `bytes` are the
// first kCompressionBytes of the file, or the whole file if it is shorter.
inline constexpr size_t kCompressionBytes = 16;
Compression CompressionOfBytes(std::string_view bytes);

// Returns the coding of a Content-Encoding that no stream decodes, e.g. "br" of
// "gzip, br"; "" if there is none. Streams know the others by the first bytes.
// Values that are no coding, as names of character sets, do not count: clients
// set them by mistake.
std::string UnknownContentCoding(std::string_view content_encoding);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_BYTE_STREAM_H_
