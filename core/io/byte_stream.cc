#include "core/io/byte_stream.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "core/base/status.h"
#include "core/io/decompressed.h"
#include "core/io/utf16_stream.h"

namespace feedmill {
namespace {

// Bytes 8 and 9 of a gzip header are its extra flags and its system. They
// distinguish it from a TFRecord of 560,927 bytes, whose length begins like a
// gzip header.
bool BeginsGzip(std::string_view bytes) {
  if (!bytes.starts_with("\x1f\x8b\x08") || bytes.size() < 10) return false;
  const auto flags = static_cast<unsigned char>(bytes[3]);
  const auto extra = static_cast<unsigned char>(bytes[8]);
  const auto system = static_cast<unsigned char>(bytes[9]);
  return (flags & 0xe0) == 0 && (extra == 0 || extra == 2 || extra == 4) &&
         (system <= 13 || system == 255);
}

bool BeginsBz2(std::string_view bytes) {
  if (!bytes.starts_with("BZh") || bytes.size() < 10 || bytes[3] < '1' ||
      bytes[3] > '9') {
    return false;
  }
  const std::string_view block = bytes.substr(4);
  return block.starts_with("1AY&SY") ||
         block.starts_with("\x17\x72\x45\x38\x50\x90");
}

// True for a zstd frame, or a skippable frame before it.
bool BeginsZstd(std::string_view bytes) {
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return bytes.size() >= 6;
  return bytes.size() >= 8 && (bytes[0] & 0xf0) == 0x50 &&
         bytes.substr(1).starts_with("\x2a\x4d\x18");
}

std::unique_ptr<ByteStream> Uncompressed(const StreamCoding& coding,
                                         PlainStream plain, std::string name) {
  switch (coding.compression) {
    case Compression::kGzip:
      return MakeGzipStream(std::move(plain), std::move(name));
    case Compression::kZstd:
      return MakeZstdStream(std::move(plain), coding.zstd_window_log);
    case Compression::kBz2:
      return MakeBz2Stream(std::move(plain), std::move(name));
    case Compression::kXz:
      return MakeXzStream(std::move(plain));
    case Compression::kByName:
    case Compression::kNone:
      break;
  }
  return std::make_unique<PlainStream>(std::move(plain));
}

}  // namespace

std::unique_ptr<ByteStream> MakeByteStream(const StreamCoding& coding,
                                           ReadFileAt read, uint64_t begin,
                                           uint64_t size, std::string name) {
  auto bytes = Uncompressed(coding, PlainStream(std::move(read), begin, size),
                            std::move(name));
  return coding.utf16 ? MakeUtf16Stream(std::move(bytes)) : std::move(bytes);
}

Compression CompressionOfBytes(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (BeginsGzip(bytes)) return Compression::kGzip;
  if (BeginsZstd(bytes)) return Compression::kZstd;
  if (BeginsBz2(bytes)) return Compression::kBz2;
  if (bytes.starts_with("\xfd\x37\x7a\x58\x5a\x00"sv)) {
    return Compression::kXz;
  }
  return Compression::kNone;
}

std::string UnknownContentCoding(std::string_view content_encoding) {
  constexpr std::string_view kUnknown[] = {
      "br", "deflate", "compress", "x-compress", "dcb", "dcz", "aes128gcm"};
  std::string codings = fmt::format(",{},", content_encoding);
  absl::AsciiStrToLower(&codings);
  std::erase(codings, ' ');
  for (const std::string_view unknown : kUnknown) {
    if (codings.find(fmt::format(",{},", unknown)) != std::string::npos) {
      return std::string(unknown);
    }
  }
  return "";
}

}  // namespace feedmill
