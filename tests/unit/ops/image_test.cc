#include "core/ops/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/data_warnings.h"
#include "core/base/status.h"
#include "core/base/vector_target.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a smooth picture, which JPEG barely changes.
std::vector<uint8_t> Gradient(ImageSize size, int64_t channels) {
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        pixels.push_back(static_cast<uint8_t>((2 * x + 3 * y + 40 * c) % 256));
      }
    }
  }
  return pixels;
}

std::string MakeJpeg(ImageSize size, bool grey = false, int flags = 0) {
  const std::vector<uint8_t> pixels = Gradient(size, grey ? 1 : 3);
  tjhandle handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long bytes = 0;  // NOLINT: TurboJPEG's type
  EXPECT_EQ(
      tjCompress2(handle, pixels.data(), static_cast<int>(size.width), 0,
                  static_cast<int>(size.height), grey ? TJPF_GRAY : TJPF_RGB,
                  &out, &bytes, grey ? TJSAMP_GRAY : TJSAMP_420, 95, flags),
      0);
  std::string file(reinterpret_cast<char*>(out), bytes);
  tjFree(out);
  tjDestroy(handle);
  return file;
}

std::string MakePng(ImageSize size, uint32_t format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<uint32_t>(size.width);
  image.height = static_cast<uint32_t>(size.height);
  image.format = format;
  const auto pixels = Gradient(size, PNG_IMAGE_SAMPLE_CHANNELS(format));
  std::string file(1 << 20, '\0');
  png_alloc_size_t bytes = file.size();
  EXPECT_NE(png_image_write_to_memory(&image, file.data(), &bytes, 0,
                                      pixels.data(), 0, nullptr),
            0);
  file.resize(bytes);
  return file;
}

struct Decoded {
  absl::Status status;
  ImageSize size;
  std::vector<uint8_t> pixels;
};

Decoded Decode(ImageDecoder& decoder, std::string_view file,
               const DecodeOptions& options = {}) {
  // A copy of exact size, so that AddressSanitizer detects reads beyond.
  const std::vector<char> exact(file.begin(), file.end());
  const std::string_view bytes(exact.data(), exact.size());
  Decoded decoded;
  const absl::StatusOr<ImageSize> size = decoder.ReadSize(bytes, options);
  decoded.status = size.status();
  if (!size.ok()) return decoded;
  decoded.size = *size;
  decoded.pixels.resize(static_cast<size_t>(
      size->height * size->width * options.channels * options.sample_bytes));
  decoded.status = decoder.Decode(bytes, options, *size, decoded.pixels);
  return decoded;
}

int LargestDifference(const std::vector<uint8_t>& a,
                      const std::vector<uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(int{a[i]} - int{b[i]}));
  }
  return largest;
}

constexpr ImageSize kSize{24, 40};

TEST(ImageDecoderTest, Jpeg) {
  ImageDecoder decoder;
  const std::string file = MakeJpeg(kSize);
  const Decoded accurate = Decode(decoder, file);
  ASSERT_TRUE(accurate.status.ok()) << accurate.status;
  EXPECT_EQ(accurate.size, kSize);
  EXPECT_LT(LargestDifference(accurate.pixels, Gradient(kSize, 3)), 40);
  const Decoded fast = Decode(decoder, file, {3, true});
  ASSERT_TRUE(fast.status.ok());
  EXPECT_LT(LargestDifference(fast.pixels, accurate.pixels), 16);
}

TEST(ImageDecoderTest, GreyJpegIsReplicatedAndColourGivesItsLuma) {
  ImageDecoder decoder;
  const Decoded rgb = Decode(decoder, MakeJpeg(kSize, true));
  ASSERT_TRUE(rgb.status.ok()) << rgb.status;
  for (size_t i = 0; i < rgb.pixels.size(); i += 3) {
    ASSERT_EQ(rgb.pixels[i], rgb.pixels[i + 1]);
    ASSERT_EQ(rgb.pixels[i], rgb.pixels[i + 2]);
  }
  const Decoded luma = Decode(decoder, MakeJpeg(kSize), {1, false});
  ASSERT_TRUE(luma.status.ok()) << luma.status;
  EXPECT_EQ(luma.pixels.size(), 24U * 40U);
}

TEST(ImageDecoderTest, ProgressiveJpeg) {
  ImageDecoder decoder;
  const Decoded decoded =
      Decode(decoder, MakeJpeg(kSize, false, TJFLAG_PROGRESSIVE));
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(decoded.pixels, Decode(decoder, MakeJpeg(kSize)).pixels);
}

TEST(ImageDecoderTest, PngIsExact) {
  ImageDecoder decoder;
  const Decoded rgb = Decode(decoder, MakePng(kSize, PNG_FORMAT_RGB));
  ASSERT_TRUE(rgb.status.ok()) << rgb.status;
  EXPECT_EQ(rgb.pixels, Gradient(kSize, 3));

  const Decoded grey =
      Decode(decoder, MakePng(kSize, PNG_FORMAT_GRAY), {1, false});
  ASSERT_TRUE(grey.status.ok()) << grey.status;
  EXPECT_EQ(grey.pixels, Gradient(kSize, 1));
  const Decoded replicated = Decode(decoder, MakePng(kSize, PNG_FORMAT_GRAY));
  EXPECT_EQ(replicated.pixels[3], replicated.pixels[5]);
  EXPECT_EQ(replicated.pixels[3], grey.pixels[1]);
}

TEST(ImageDecoderTest, PngAlphaIsDroppedAndColourBecomesGrey) {
  ImageDecoder decoder;
  const Decoded rgba = Decode(decoder, MakePng({2, 2}, PNG_FORMAT_RGBA));
  ASSERT_TRUE(rgba.status.ok()) << rgba.status;
  EXPECT_THAT(rgba.pixels,
              ElementsAre(0, 40, 80, 2, 42, 82, 3, 43, 83, 5, 45, 85));
  const Decoded grey =
      Decode(decoder, MakePng(kSize, PNG_FORMAT_RGB), {1, false});
  ASSERT_TRUE(grey.status.ok()) << grey.status;
  EXPECT_GT(grey.pixels[0], 0);
  EXPECT_LT(grey.pixels[0], 80);
}

TEST(ImageDecoderTest, EveryTruncationOfDataIsDataLoss) {
  ImageDecoder decoder;
  const std::string next = MakeJpeg({8, 8});
  constexpr size_t kJpegEnd = 2;  // a marker
  constexpr size_t kPngEnd = 12;  // a chunk without data
  const std::vector<std::pair<std::string, size_t>> files = {
      {MakeJpeg({16, 16}), kJpegEnd},
      {MakePng({5, 4}, PNG_FORMAT_RGB), kPngEnd},
      {MakeJpeg({16, 16}, false, TJFLAG_PROGRESSIVE), kJpegEnd}};
  const DecodeOptions strict{.fail_on_warning = true};
  for (const auto& [file, end] : files) {
    const Decoded whole = Decode(decoder, file, strict);
    EXPECT_TRUE(whole.status.ok());
    for (size_t size = 0; size < file.size(); ++size) {
      const std::string_view cut = std::string_view(file).substr(0, size);
      EXPECT_TRUE(absl::IsDataLoss(Decode(decoder, cut, strict).status))
          << size << " of " << file.size();
      const Decoded decoded = Decode(decoder, cut);
      if (size + end < file.size()) {
        EXPECT_TRUE(absl::IsDataLoss(decoded.status))
            << size << " of " << file.size() << ": " << decoded.status;
      } else {
        EXPECT_TRUE(decoded.status.ok()) << decoded.status;
        EXPECT_EQ(decoded.pixels, whole.pixels);
      }
      ASSERT_TRUE(Decode(decoder, next).status.ok())
          << "a bad image must not spoil the next one";
    }
  }
}

TEST(ImageDecoderTest, TruncatedJpegsArePaddedIfAsked) {
  ImageDecoder decoder;
  const DecodeOptions pad{.fail_on_warning = true, .pad_truncated = true};
  for (const int flags : {0, TJFLAG_PROGRESSIVE}) {
    const std::string file = MakeJpeg({64, 64}, false, flags);
    const std::string_view half =
        std::string_view(file).substr(0, file.size() / 2 + 300);
    EXPECT_THAT(ErrorText(Decode(decoder, half).status),
                HasSubstr("truncated: pad"));
    const Decoded whole = Decode(decoder, file);
    const Decoded decoded = Decode(decoder, half, pad);
    ASSERT_TRUE(decoded.status.ok()) << decoded.status;
    const auto first = [](const Decoded& image) {
      return std::vector<uint8_t>(image.pixels.begin(),
                                  image.pixels.begin() + 16 * 3);
    };
    EXPECT_LT(LargestDifference(first(decoded), first(whole)), 64);
    EXPECT_NE(decoded.pixels, whole.pixels);
    // The header must be complete.
    EXPECT_TRUE(absl::IsDataLoss(
        Decode(decoder, std::string_view(file).substr(0, 100), pad).status));
  }
}

TEST(ImageDecoderTest, WarningsAreCountedUnlessTheyAreErrors) {
  ImageDecoder decoder;
  const std::string file = MakeJpeg({16, 16});
  const Decoded whole = Decode(decoder, file);
  std::string revision = file;
  revision[11] = 2;  // of JFIF
  std::string extraneous = file;
  extraneous.insert(file.size() - 2, "\x12\x34\x56");
  const DecodeOptions strict{.fail_on_warning = true};
  for (const std::string& odd : {revision, extraneous}) {
    const uint64_t before = DataWarningsNoted();
    const Decoded decoded = Decode(decoder, odd);
    EXPECT_TRUE(decoded.status.ok()) << decoded.status;
    EXPECT_EQ(decoded.pixels, whole.pixels);
    EXPECT_EQ(DataWarningsNoted(), before + 1);
    EXPECT_TRUE(absl::IsDataLoss(Decode(decoder, odd, strict).status));
    EXPECT_EQ(DataWarningsNoted(), before + 1);
  }
}

// Two by two pixels each.
const std::string kGif(
    "GIF89a\2\0\2\0\x81\0\0\1\2\3\4\5\6\7\10\11\12\13\14,\0\0\0\0\2\0\2\0\0"
    "\2\3\x44\x34\5\0;",
    41);
const std::string kBmp(
    "BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0\1\0\30\0\0\0\0\0"
    "\20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3\4\5\6\0\0\7\10\11\12\13\14"
    "\0\0",
    70);
const std::string kPnm("P2 2 2 9 1 2 3 4 ");

TEST(ImageDecoderTest, SmallFilesOfOtherFormatsAreDecoded) {
  ImageDecoder decoder;
  EXPECT_THAT(Decode(decoder, kGif).pixels,
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(Decode(decoder, kBmp).pixels,
              ElementsAre(9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4));
  EXPECT_THAT(Decode(decoder, kPnm, {.channels = 1}).pixels,
              ElementsAre(28, 57, 85, 113));
}

// ---- orientation

// A TIFF directory of two entries, the second of which is the orientation.
std::string Tiff(bool big, int orientation) {
  const auto number = [&](unsigned value, int bytes) {
    std::string out;
    for (int k = 0; k < bytes; ++k) {
      const int shift = 8 * (big ? bytes - 1 - k : k);
      out += static_cast<char>(value >> shift);
    }
    return out;
  };
  const auto entry = [&](unsigned tag, unsigned value) {
    return number(tag, 2) + number(3, 2) + number(1, 4) + number(value, 2) +
           number(0, 2);
  };
  return (big ? "MM" : "II") + number(42, 2) + number(8, 4) + number(2, 2) +
         entry(256, 9) + entry(274, static_cast<unsigned>(orientation)) +
         number(0, 4);
}

std::string OrientedJpeg(ImageSize size, const std::string& tiff) {
  const std::string exif = std::string("Exif\0\0", 6) + tiff;
  std::string file = MakeJpeg(size);
  const auto length = exif.size() + 2;
  return file.insert(2, std::string("\xff\xe1") +
                            static_cast<char>(length / 256) +
                            static_cast<char>(length % 256) + exif);
}

const DecodeOptions kOriented{.apply_exif_orientation = true};

TEST(ImageDecoderTest, EachOrientationIsAppliedIfAsked) {
  // Corners of the shown image, as corners of the stored one: its top left, top
  // right, bottom left and bottom right are 0 to 3.
  constexpr int kCorners[8][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {3, 2, 1, 0},
                                  {2, 3, 0, 1}, {0, 2, 1, 3}, {2, 0, 3, 1},
                                  {3, 1, 2, 0}, {1, 3, 0, 2}};
  ImageDecoder decoder;
  const ImageSize stored{40, 48};
  const auto corners = [](const Decoded& image) {
    const auto at = [&](int64_t y, int64_t x) {
      const auto start = image.pixels.begin() + (y * image.size.width + x) * 3;
      return std::vector<uint8_t>(start, start + 3);
    };
    const int64_t bottom = image.size.height - 1, right = image.size.width - 1;
    return std::vector{at(0, 0), at(0, right), at(bottom, 0),
                       at(bottom, right)};
  };
  const Decoded plain = Decode(decoder, MakeJpeg(stored));
  for (const bool big : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const std::string file = OrientedJpeg(stored, Tiff(big, orientation));
      EXPECT_EQ(Decode(decoder, file).pixels, plain.pixels);
      const Decoded shown = Decode(decoder, file, kOriented);
      ASSERT_TRUE(shown.status.ok()) << shown.status;
      EXPECT_EQ(shown.size, orientation <= 4 ? stored : (ImageSize{48, 40}));
      for (size_t k = 0; k < 4; ++k) {
        const auto from = static_cast<size_t>(kCorners[orientation - 1][k]);
        EXPECT_EQ(corners(shown)[k], corners(plain)[from]) << orientation;
      }
    }
  }
}

TEST(ImageDecoderTest, ABoxOfATurnedImageHasThePixelsOfTheWhole) {
  ImageDecoder decoder;
  const ImageBox box{3, 10, {20, 21}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string file = OrientedJpeg({64, 80}, Tiff(true, orientation));
    DecodeOptions part = kOriented;
    part.needed = box;
    const Decoded whole = Decode(decoder, file, kOriented);
    const Decoded some = Decode(decoder, file, part);
    ASSERT_TRUE(some.status.ok()) << some.status;
    for (int64_t y = box.top; y < box.top + box.size.height; ++y) {
      const auto start = (y * whole.size.width + box.left) * 3;
      ASSERT_TRUE(std::equal(whole.pixels.begin() + start,
                             whole.pixels.begin() + start + box.size.width * 3,
                             some.pixels.begin() + start))
          << orientation << " row " << y;
    }
  }
}

TEST(ImageDecoderTest, AnOrientationThatDoesNotExistChangesNothing) {
  ImageDecoder decoder;
  const std::vector<uint8_t> plain = Decode(decoder, MakeJpeg(kSize)).pixels;
  const std::string sound = Tiff(true, 6);
  std::string directory_beyond = sound;
  directory_beyond[4] = '\xff';
  for (const std::string& tiff :
       {Tiff(true, 0), Tiff(false, 9), std::string("MM"), std::string("XX\0*"),
        sound.substr(0, 20), directory_beyond}) {
    const Decoded shown = Decode(decoder, OrientedJpeg(kSize, tiff), kOriented);
    ASSERT_TRUE(shown.status.ok()) << shown.status;
    EXPECT_EQ(shown.pixels, plain);
  }
}

TEST(ImageDecoderTest, AVideoIsNoImage) {
  ImageDecoder decoder;
  const std::string video(
      "\0\0\0\x1c"
      "ftypisom",
      12);
  EXPECT_THAT(ErrorText(Decode(decoder, video).status),
              HasSubstr("not an image"));
}

TEST(ImageDecoderTest, FormatsThatAreNotDecodedAreNamed) {
  ImageDecoder decoder;
  const std::string ftyp(
      "\0\0\0\x1c"
      "ftyp",
      8);
  for (const auto& [file, name] :
       std::vector<std::pair<std::string, std::string>>{
           {std::string("II*\0", 4), "TIFF"},
           {ftyp + "avif", "AVIF"},
           {ftyp + "heic", "HEIF"},
           {"\xff\x0a..", "JPEG XL"}}) {
    EXPECT_THAT(ErrorText(Decode(decoder, file).status),
                HasSubstr("a " + name + " image"));
  }
}

TEST(ImageDecoderTest, FlippedBytesNeverCrash) {
  ImageDecoder decoder;
  for (const std::string& file :
       {OrientedJpeg({16, 16}, Tiff(true, 7)), MakePng({5, 4}, PNG_FORMAT_RGBA),
        kGif, kBmp, kPnm}) {
    for (size_t at = 0; at < file.size(); ++at) {
      for (char mask : {'\x01', '\x80', '\xff'}) {
        std::string bad = file;
        bad[at] = static_cast<char>(bad[at] ^ mask);
        for (const DecodeOptions& options :
             {DecodeOptions{}, DecodeOptions{.channels = 4,
                               .apply_exif_orientation = true,
                               .sample_bytes = 2}}) {
          const Decoded decoded = Decode(decoder, bad, options);
          EXPECT_TRUE(decoded.status.ok() || absl::IsDataLoss(decoded.status));
        }
      }
    }
  }
}

TEST(ImageDecoderTest, GarbageIsRefusedByItsFormat) {
  ImageDecoder decoder;
  EXPECT_THAT(ErrorText(Decode(decoder, "words").status),
              HasSubstr("neither JPEG, PNG, WebP, GIF, BMP, PNM, TIFF"));
  EXPECT_THAT(ErrorText(Decode(decoder, "GIF89a…").status), HasSubstr("GIF: "));
  EXPECT_THAT(ErrorText(Decode(decoder, "").status), HasSubstr("no bytes"));
  EXPECT_TRUE(absl::IsDataLoss(Decode(decoder, "\xff\xd8\xff").status));
}

TEST(ImageDecoderTest, HugeSizesAreRefusedFromTheHeader) {
  ImageDecoder decoder;
  std::string png = MakePng({5, 4}, PNG_FORMAT_RGB);
  const auto set_size = [&](uint32_t width, uint32_t height) {
    for (size_t i = 0; i < 4; ++i) {
      png[16 + i] = static_cast<char>(width >> (24 - 8 * i));
      png[20 + i] = static_cast<char>(height >> (24 - 8 * i));
    }
  };
  for (const auto& [width, height] : std::vector<std::pair<uint32_t, uint32_t>>{
           {65'501, 1}, {30'000, 30'000}, {~0U, ~0U}, {0, 5}}) {
    set_size(width, height);
    EXPECT_TRUE(absl::IsDataLoss(decoder.ReadSize(png).status()))
        << width << "x" << height;
  }
}

// ---- resize

TEST(ResizeImageTest, BilinearAndNearestFollowOpenCv) {
  const std::vector<uint8_t> source = {0, 100, 200, 50};
  std::vector<uint8_t> out(8);
  ASSERT_TRUE(
      ResizeImage(source, {1, 4}, out, {1, 8}, 1, ResizeMethod::kBilinear)
          .ok());
  EXPECT_THAT(out, ElementsAre(0, 25, 75, 125, 175, 163, 88, 50));
  ASSERT_TRUE(
      ResizeImage(source, {1, 4}, out, {1, 8}, 1, ResizeMethod::kNearest).ok());
  EXPECT_THAT(out, ElementsAre(0, 0, 100, 100, 200, 200, 50, 50));
}

TEST(ResizeImageTest, TheSameSizeIsACopy) {
  const std::vector<uint8_t> source = Gradient({3, 4}, 3);
  std::vector<uint8_t> out(source.size());
  ASSERT_TRUE(
      ResizeImage(source, {3, 4}, out, {3, 4}, 3, ResizeMethod::kBilinear)
          .ok());
  EXPECT_EQ(out, source);
}

TEST(ResizeImageTest, ManyChannels) {
  const std::vector<uint8_t> source(4 * 4 * 7, 9);
  std::vector<uint8_t> out(2 * 3 * 7);
  for (ResizeMethod method :
       {ResizeMethod::kBilinear, ResizeMethod::kNearest}) {
    ASSERT_TRUE(ResizeImage(source, {4, 4}, out, {2, 3}, 7, method).ok());
    EXPECT_EQ(out, std::vector<uint8_t>(2 * 3 * 7, 9));
  }
}

// The library's loops give OpenCV's results, which the baseline uses.
TEST(ResizeImageTest, EveryVectorTargetGivesTheBitsOfOpenCv) {
  std::mt19937 random(7);
  const auto side = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  const VectorTarget best = LoopTarget();
  for (int k = 0; k < 400; ++k) {
    const int64_t most = k < 300 ? 40 : 400;
    const ImageSize from{side(most), side(most)};
    ImageSize to{side(most), side(most)};
    if (k % 8 == 0) to.width = std::max<int64_t>(from.width / 2, 1);
    if (k % 16 == 0) to.height = std::max<int64_t>(from.height / 2, 1);
    std::vector<uint8_t> source(
        static_cast<size_t>(from.height * from.width * 3));
    // Includes extremes, to test saturation.
    for (uint8_t& byte : source) {
      const auto any = static_cast<uint8_t>(random());
      byte = k % 2 == 0 || any % 2 == 0 ? any : uint8_t{255};
    }
    const size_t bytes = static_cast<size_t>(to.height * to.width * 3);
    std::vector<uint8_t> expected(bytes);
    SetLoopTarget(VectorTarget::kBaseline);
    ASSERT_TRUE(
        ResizeImage(source, from, expected, to, 3, ResizeMethod::kBilinear)
            .ok());
    for (const VectorTarget target : {VectorTarget::kAvx2, best}) {
      if (target > best) continue;
      SetLoopTarget(target);
      std::vector<uint8_t> out(bytes + 1, 77);
      ASSERT_TRUE(ResizeImage(source, from, std::span(out).first(bytes), to, 3,
                              ResizeMethod::kBilinear)
                      .ok());
      ASSERT_EQ(out.back(), 77);
      out.pop_back();
      ASSERT_EQ(out, expected)
          << from.height << "x" << from.width << " to " << to.height << "x"
          << to.width << " at " << static_cast<int>(target);
    }
    SetLoopTarget(best);
  }
}

TEST(ResizeImageTest, EmptyImagesAreRefused) {
  std::vector<uint8_t> out(4);
  EXPECT_TRUE(absl::IsInvalidArgument(
      ResizeImage({}, {0, 4}, out, {2, 2}, 1, ResizeMethod::kNearest)));
}

// ---- flip

std::vector<std::byte> Bytes(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(FlipImageTest, BothDirectionsInPlaceAndNot) {
  for (size_t pixel_bytes : {1U, 2U, 3U, 4U, 5U, 12U}) {
    for (int64_t width : {1, 2, 3, 12, 13, 41}) {
      const ImageSize size{3, width};
      std::vector<std::byte> source;
      for (size_t i = 0; i < 3 * static_cast<size_t>(width) * pixel_bytes;
           ++i) {
        source.push_back(static_cast<std::byte>(i));
      }
      for (FlipDirection direction :
           {FlipDirection::kHorizontal, FlipDirection::kVertical}) {
        std::vector<std::byte> want(source.size());
        for (int64_t y = 0; y < 3; ++y) {
          for (int64_t x = 0; x < width; ++x) {
            const bool across = direction == FlipDirection::kHorizontal;
            const int64_t from_y = across ? y : 2 - y;
            const int64_t from_x = across ? width - 1 - x : x;
            std::memcpy(&want[static_cast<size_t>(y * width + x) * pixel_bytes],
                        &source[static_cast<size_t>(from_y * width + from_x) *
                                pixel_bytes],
                        pixel_bytes);
          }
        }
        std::vector<std::byte> out(source.size());
        FlipImage(source, out, size, pixel_bytes, direction);
        EXPECT_EQ(out, want);
        std::vector<std::byte> place = source;
        FlipImage(place, place, size, pixel_bytes, direction);
        EXPECT_EQ(place, want);
      }
    }
  }
}

TEST(FlipImageTest, EmptyImages) {
  std::vector<std::byte> nothing = Bytes({});
  FlipImage(nothing, nothing, {0, 4}, 3, FlipDirection::kVertical);
  FlipImage(nothing, nothing, {4, 0}, 3, FlipDirection::kHorizontal);
}

}  // namespace
}  // namespace feedmill::testing
