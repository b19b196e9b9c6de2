#include "core/io/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/base/status.h"
#include "core/sources/crc32c.h"

namespace feedmill {
namespace {

// All of a stream in parts of `size`, and whether it ends in damage.
std::string ReadAll(const StreamCoding& coding, const std::string& file,
                    size_t size, bool& damaged) {
  const auto read = [&](uint64_t offset, std::span<std::byte> out) {
    std::memcpy(out.data(), file.data() + offset, out.size());
    return absl::OkStatus();
  };
  const auto stream = MakeByteStream(coding, read, 0, file.size());
  std::string out;
  std::string part(size, '\0');
  while (true) {
    const auto got =
        stream->Read(std::as_writable_bytes(std::span<char>(part)));
    damaged = !got.ok();
    if (!got.ok() || *got == 0) return out;
    out.append(part.data(), *got);
  }
}

std::string Utf16(std::u16string_view text, bool big_endian) {
  std::string out;
  for (const char16_t unit : text) {
    const char low = static_cast<char>(unit & 0xff);
    const char high = static_cast<char>(unit >> 8);
    out += big_endian ? high : low;
    out += big_endian ? low : high;
  }
  return out;
}

TEST(ByteStream, TellsNoTfRecordForGzip) {
  // The length of a record, whose first bytes are a gzip header's, is followed
  // by its checksum: for no length it looks like the rest of one.
  for (uint64_t flags = 0; flags < 0x40; ++flags) {
    const uint64_t length = 0x088b1f | flags << 24;
    std::string head(sizeof length, '\0');
    std::memcpy(head.data(), &length, sizeof length);
    const uint32_t crc = MaskCrc32c(Crc32c(std::as_bytes(std::span(head))));
    head.append(reinterpret_cast<const char*>(&crc), sizeof crc);
    head.append(20, 'r');
    EXPECT_EQ(CompressionOfBytes(head), Compression::kNone) << length;
  }
}

TEST(ByteStream, TellsCompressionByFirstBytesOnly) {
  using namespace std::string_literals;
  EXPECT_EQ(CompressionOfBytes(""), Compression::kNone);
  EXPECT_EQ(CompressionOfBytes("\x1f\x8b"), Compression::kNone);
  EXPECT_EQ(CompressionOfBytes("BZh9 is a word"), Compression::kNone);
  EXPECT_EQ(CompressionOfBytes("BZh91AY&SY"), Compression::kBz2);
  EXPECT_EQ(CompressionOfBytes("BZh9\x17\x72\x45\x38\x50\x90"),
            Compression::kBz2);
  EXPECT_EQ(CompressionOfBytes("\xfd"
                               "7zXZ\0"s),
            Compression::kXz);
  EXPECT_EQ(CompressionOfBytes("\xfd"
                               "7zXZ"),
            Compression::kNone);
}

TEST(ByteStream, KnowsWhichContentCodingsItCannotDecode) {
  EXPECT_EQ(UnknownContentCoding("br"), "br");
  EXPECT_EQ(UnknownContentCoding("gzip, BR"), "br");
  EXPECT_EQ(UnknownContentCoding("deflate,gzip"), "deflate");
  for (const char* const known : {"", "gzip", "x-gzip", "zstd", "identity",
                                  "aws-chunked", "utf-8", "gzip,aws-chunked"}) {
    EXPECT_EQ(UnknownContentCoding(known), "") << known;
  }
}

TEST(ByteStream, MakesUtf8OfUtf16InPartsOfAnySize) {
  const std::u16string text = u"\ufeffa\u00e9\u20ac\U0001f600\n\ufffd\0z";
  const std::string want = "a\u00e9\u20ac\U0001f600\n\ufffd";
  StreamCoding coding(Compression::kNone);
  coding.utf16 = true;
  for (const bool big_endian : {false, true}) {
    for (size_t size = 1; size < 20; ++size) {
      bool damaged = true;
      EXPECT_EQ(ReadAll(coding, Utf16(text, big_endian), size, damaged), want);
      EXPECT_FALSE(damaged);
    }
  }
  for (const std::u16string& bad :
       {std::u16string{0xd800}, std::u16string{0xdc00, u'x'},
        std::u16string{0xd800, u'x'}}) {
    bool damaged = false;
    EXPECT_EQ(ReadAll(coding, Utf16(u"ok" + bad, false), 7, damaged), "ok");
    EXPECT_TRUE(damaged);
  }
  bool damaged = false;
  EXPECT_EQ(ReadAll(coding, Utf16(u"ok", false) + "x", 7, damaged), "ok");
  EXPECT_TRUE(damaged);
}

}  // namespace
}  // namespace feedmill
