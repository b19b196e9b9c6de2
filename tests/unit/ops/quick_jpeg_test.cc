#include "core/ops/jpeg/quick_jpeg.h"

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/ops/jpeg_image.h"

namespace feedmill {
namespace {

struct Kind {
  ImageSize size{48, 64};
  int subsampling = TJSAMP_420;
  int quality = 90;
  uint32_t noise = 0;  // the maximum
  int flags = 0;
};

std::string MakeJpeg(const Kind& kind) {
  std::mt19937 random(7);
  std::vector<uint8_t> pixels;
  for (int64_t k = 0; k < kind.size.height * kind.size.width * 3; ++k) {
    const int64_t y = k / 3 / kind.size.width, x = k / 3 % kind.size.width;
    const auto smooth = static_cast<uint32_t>(2 * x + 3 * y + 40 * (k % 3));
    pixels.push_back(
        static_cast<uint8_t>(smooth + random() % (kind.noise + 1)));
  }
  tjhandle handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long bytes = 0;  // NOLINT: TurboJPEG's type
  EXPECT_EQ(
      tjCompress2(handle, pixels.data(), static_cast<int>(kind.size.width), 0,
                  static_cast<int>(kind.size.height), TJPF_RGB, &out, &bytes,
                  kind.subsampling, kind.quality, kind.flags),
      0);
  std::string file(reinterpret_cast<char*>(out), bytes);
  tjFree(out);
  tjDestroy(handle);
  return file;
}

struct Decoders {
  QuickJpeg quick;
  JpegDecoder libjpeg;
  int boxes = 0;  // decoded by `quick`
};

ImageBox RandomBox(std::mt19937& random, ImageSize size) {
  const auto part = [&](int64_t side, int64_t& begin, int64_t& length) {
    length = 1 + static_cast<int64_t>(random()) % side;
    begin = static_cast<int64_t>(random()) % (side - length + 1);
  };
  ImageBox box;
  part(size.height, box.top, box.size.height);
  part(size.width, box.left, box.size.width);
  return box;
}

// Decodes only some boxes of the image, whose pixels are `whole`.
void ExpectSameInBoxes(Decoders& decoders, std::string_view file,
                       DecodeOptions options, ImageSize size,
                       const std::vector<uint8_t>& whole) {
  static std::mt19937 random(11);
  const auto row = static_cast<size_t>(size.width * options.channels);
  for (int k = 0; k < 8; ++k) {
    const ImageBox box = RandomBox(random, size);
    options.needed = box;
    std::vector<uint8_t> part(whole.size());
    if (!decoders.quick.Decode(file, options, size, part)) continue;
    ++decoders.boxes;
    for (int64_t y = box.top; y < box.top + box.size.height; ++y) {
      const size_t begin = static_cast<size_t>(y) * row +
                           static_cast<size_t>(box.left * options.channels);
      const auto bytes = static_cast<size_t>(box.size.width * options.channels);
      ASSERT_EQ(std::memcmp(&part[begin], &whole[begin], bytes), 0)
          << size.width << " x " << size.height << ", row " << y
          << " of the box " << box.top << ' ' << box.left << ' '
          << box.size.height << ' ' << box.size.width;
    }
  }
}

// True if QuickJpeg decoded the file; then its result must equal libjpeg's.
bool DecodeBothWays(Decoders& decoders, const std::string& file,
                    const DecodeOptions& options, ImageSize size) {
  const auto bytes =
      static_cast<size_t>(size.height * size.width * options.channels);
  // A copy of exact size, so that AddressSanitizer detects reads beyond.
  const std::vector<char> exact(file.begin(), file.end());
  const std::string_view view(exact.data(), exact.size());
  std::vector<uint8_t> usual(bytes), any(bytes);
  if (!decoders.quick.Decode(view, options, size, usual)) return false;
  const absl::Status status =
      decoders.libjpeg.DecodeAny(view, options, size, any);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(usual == any) << size.width << " x " << size.height;
  ExpectSameInBoxes(decoders, view, options, size, any);
  return true;
}

// Decodes with all supported options.
void ExpectUsual(Decoders& decoders, const std::string& file, ImageSize size) {
  for (const int64_t scale : {1, 2, 4, 8}) {
    const ImageSize made{(size.height + scale - 1) / scale,
                         (size.width + scale - 1) / scale};
    if (scale > 1 && (made.height < 2 || made.width < 2)) break;
    for (const int64_t channels : {1, 3}) {
      for (const bool fast_dct : {false, true}) {
        decoders.boxes = 0;
        EXPECT_TRUE(
            DecodeBothWays(decoders, file, {channels, fast_dct, {}}, made));
        EXPECT_EQ(decoders.boxes, 8);
      }
    }
  }
}

TEST(QuickJpegTest, MostFilesAreDecodedAsLibjpegDoes) {
  Decoders decoders;
  for (const int subsampling : {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_440,
                                TJSAMP_411, TJSAMP_GRAY}) {
    for (const int quality : {1, 50, 90, 100}) {
      for (const uint32_t noise : {0U, 30U, 255U}) {
        for (const ImageSize size : {ImageSize{1, 1}, ImageSize{5, 7},
                                     ImageSize{33, 17}, ImageSize{99, 133}}) {
          SCOPED_TRACE(::testing::Message()
                       << subsampling << ' ' << quality << ' ' << noise);
          ExpectUsual(decoders,
                      MakeJpeg({size, subsampling, quality, noise, 0}), size);
        }
      }
    }
  }
}

// The file has its own codes, longer than common ones.
TEST(QuickJpegTest, CodesMayBeAFilesOwn) {
  setenv("TJ_OPTIMIZE", "1", 1);
  Decoders decoders;
  for (const uint32_t noise : {0U, 3U, 100U}) {
    const Kind kind{{200, 300}, TJSAMP_420, 97, noise, 0};
    ExpectUsual(decoders, MakeJpeg(kind), kind.size);
  }
  unsetenv("TJ_OPTIMIZE");
}

TEST(QuickJpegTest, UnusualFilesAreLeftToLibjpeg) {
  Decoders decoders;
  const Kind kind;
  const DecodeOptions options;
  const std::string file = MakeJpeg(kind);
  EXPECT_TRUE(DecodeBothWays(decoders, file, options, kind.size));
  Kind progressive;
  progressive.flags = TJFLAG_PROGRESSIVE;
  setenv("TJ_RESTART", "1", 1);
  const std::string restarts = MakeJpeg(kind);
  unsetenv("TJ_RESTART");
  for (const std::string& unusual : {MakeJpeg(progressive), restarts}) {
    std::vector<uint8_t> usual(size_t{48} * 64 * 3), any(size_t{48} * 64 * 3);
    EXPECT_FALSE(decoders.quick.Decode(unusual, options, kind.size, usual));
    EXPECT_TRUE(
        decoders.libjpeg.DecodeAny(unusual, options, kind.size, any).ok());
    EXPECT_TRUE(
        decoders.libjpeg.Decode(unusual, options, kind.size, usual).ok());
    EXPECT_EQ(usual, any);
  }
  EXPECT_TRUE(DecodeBothWays(decoders, file, options, kind.size));
}

// Returns the file without its tables, like the frames of some films: the
// standard's tables are implied.
std::string WithoutCodes(std::string file) {
  for (size_t at = 2; file[at + 1] != '\xda';) {
    const size_t bytes = 2 + static_cast<uint8_t>(file[at + 2]) * size_t{256} +
                         static_cast<uint8_t>(file[at + 3]);
    if (file[at + 1] == '\xc4') {
      file.erase(at, bytes);
    } else {
      at += bytes;
    }
  }
  return file;
}

TEST(QuickJpegTest, AFileNeverHasTheTablesOfTheOneBefore) {
  const Kind kind;
  const std::string whole = MakeJpeg(kind);
  setenv("TJ_OPTIMIZE", "1", 1);
  const std::string own = MakeJpeg({kind.size, TJSAMP_420, 60, 100, 0});
  unsetenv("TJ_OPTIMIZE");
  Decoders decoders;
  std::vector<uint8_t> expected(size_t{48} * 64 * 3), got(size_t{48} * 64 * 3);
  ASSERT_TRUE(decoders.libjpeg.Decode(whole, {}, kind.size, expected).ok());
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(decoders.libjpeg.Decode(own, {}, kind.size, got).ok());
    ASSERT_TRUE(decoders.libjpeg.DecodeAny(own, {}, kind.size, got).ok());
    ASSERT_TRUE(
        decoders.libjpeg.Decode(WithoutCodes(whole), {}, kind.size, got).ok());
    EXPECT_EQ(got, expected);
  }
}

// Files accepted by the usual path are decoded safely and equal libjpeg's
// result.
TEST(QuickJpegTest, DamageIsNeverTakenForAPicture) {
  Decoders decoders;
  std::mt19937 random(11);
  int taken = 0;
  for (const int subsampling : {TJSAMP_420, TJSAMP_GRAY}) {
    const Kind kind{{40, 56}, subsampling, 80, 20, 0};
    const std::string file = MakeJpeg(kind);
    for (size_t length = 0; length < file.size(); ++length) {
      EXPECT_FALSE(
          DecodeBothWays(decoders, file.substr(0, length), {}, kind.size));
    }
    for (int round = 0; round < 3'000; ++round) {
      std::string damaged = file;
      for (auto k = random() % 3 + 1; k > 0; --k) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      taken += DecodeBothWays(decoders, damaged, {}, kind.size) ? 1 : 0;
    }
  }
  EXPECT_GT(taken, 100);  // a damaged file may be another valid picture
}

}  // namespace
}  // namespace feedmill
