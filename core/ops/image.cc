#include "core/ops/image.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/ops/antialias_resizing.h"
#include "core/ops/image_formats.h"
#include "core/ops/image_orientation.h"
#include "core/ops/image_resizing.h"
#include "core/ops/jpeg_image.h"

#if defined(__x86_64__)
#include <tmmintrin.h>
#endif

namespace feedmill {
namespace {

size_t PixelCount(ImageSize size) {
  return static_cast<size_t>(size.height) * static_cast<size_t>(size.width);
}

absl::Status CheckSize(ImageSize size) {
  if (size.height <= 0 || size.width <= 0) {
    return DataLoss("the image is empty: {} x {}", size.width, size.height);
  }
  if (size.height > kImageSideMax || size.width > kImageSideMax ||
      size.height * size.width > kImagePixelsMax) {
    return DataLoss(
        "the image is too large: {} x {}; the limits are {} a side and {} "
        "pixels",
        size.width, size.height, kImageSideMax, kImagePixelsMax);
  }
  return absl::OkStatus();
}

// Returns the size that libjpeg produces at the smallest scale that is large
// enough. From this size alone, the decoder finds the same scale if both sides
// are at least 2.
ImageSize ShrunkSize(ImageSize size, ImageSize at_least) {
  FM_CHECK(at_least.height >= 2 && at_least.width >= 2);
  for (const int64_t scale : {8, 4, 2}) {
    if (size.height >= scale * at_least.height &&
        size.width >= scale * at_least.width) {
      return {(size.height + scale - 1) / scale,
              (size.width + scale - 1) / scale};
    }
  }
  return size;
}

constexpr ImageCodec kImageCodecs[] = {
    {IsWebp, ReadWebpSize, DecodeWebp},
    {IsGif, ReadGifSize, DecodeGif},
    {IsBmp, ReadBmpSize, DecodeBmp},
    {IsPnm, ReadPnmSize, DecodePnm, DecodeWidePnm},
};

// The codecs of libraries, once they are known.
std::span<const ImageCodec>& OtherCodecs() {
  static std::span<const ImageCodec> codecs;
  return codecs;
}

// Returns the name of a format that is not decoded, by its first bytes; ""
// if they are of no image.
std::string_view OtherImageFormat(std::string_view file) {
  using std::string_view_literals::operator""sv;
  if (IsTiff(file)) return "TIFF";
  if (file.starts_with("\xff\x0a") || file.substr(0, 8) == "\0\0\0\fJXL "sv) {
    return "JPEG XL";
  }
  if (file.substr(0, 8) == "\0\0\0\fjP  "sv) return "JPEG 2000";
  if (file.starts_with("8BPS")) return "Photoshop";
  // The brand of a file; videos have others.
  if (file.size() < 12 || file.substr(4, 4) != "ftyp") return "";
  const std::string_view brand = file.substr(8, 4);
  if (brand == "avif" || brand == "avis") return "AVIF";
  return brand.starts_with("hei") || brand == "mif1" ? "HEIF" : "";
}

absl::Status UnknownFormat(std::string_view file) {
  if (file.empty()) return DataLoss("the image has no bytes");
  const std::string_view other = OtherImageFormat(file);
  if (!other.empty()) {
    return DataLoss(
        "a {} image, which is not decoded; convert it to JPEG, PNG or WebP",
        other);
  }
  return DataLoss(
      "not an image: neither JPEG, PNG, WebP, GIF, BMP, PNM, TIFF, HEIF nor "
      "AVIF by its first bytes");
}

absl::StatusOr<const ImageCodec*> ImageCodecOf(std::string_view file) {
  for (const std::span<const ImageCodec> codecs :
       {std::span<const ImageCodec>(kImageCodecs), OtherCodecs()}) {
    for (const ImageCodec& codec : codecs) {
      if (codec.recognizes(file)) return &codec;
    }
  }
  return UnknownFormat(file);
}

absl::StatusOr<ImageSize> ReadRgbSize(std::string_view file) {
  FM_ASSIGN_OR_RETURN(const ImageCodec* const codec, ImageCodecOf(file));
  return codec->read_size(file);
}

// Decodes by decode(rgb or rgba). Grey is Pillow's "L": the luma of the RGB
// pixels.
template <class Sample, class Decode>
absl::Status DecodeOrLuma(int64_t channels, std::span<Sample> pixels,
                          const Decode& decode) {
  if (channels != 1) return decode(channels, pixels);
  std::vector<Sample> rgb(pixels.size() * 3);
  FM_RETURN_IF_ERROR(decode(3, std::span(rgb)));
  for (size_t k = 0; k < pixels.size(); ++k) pixels[k] = Luma(&rgb[k * 3]);
  return absl::OkStatus();
}

// Decodes bytes by decode(pixels), and writes them as samples of 16 bits.
template <class Decode>
absl::Status DecodeWidened(std::span<uint16_t> pixels, const Decode& decode) {
  std::vector<uint8_t> bytes(pixels.size());
  FM_RETURN_IF_ERROR(decode(std::span(bytes)));
  constexpr unsigned kScale = 257;  // 255 becomes 65,535
  for (size_t k = 0; k < bytes.size(); ++k) {
    pixels[k] = static_cast<uint16_t>(bytes[k] * kScale);
  }
  return absl::OkStatus();
}

// The span as samples. REQUIRES: its memory was allocated, so it is aligned.
std::span<uint16_t> AsWide(std::span<uint8_t> pixels) {
  return {reinterpret_cast<uint16_t*>(pixels.data()), pixels.size() / 2};
}

absl::Status DecodeRgbOrGray(std::string_view file,
                             const DecodeOptions& options, ImageSize size,
                             std::span<uint8_t> pixels) {
  FM_ASSIGN_OR_RETURN(const ImageCodec* const codec, ImageCodecOf(file));
  const auto decode = [&](std::span<uint8_t> target) {
    return DecodeOrLuma(options.channels, target, [&](int64_t c, auto out) {
      return codec->decode(file, size, c, out);
    });
  };
  if (options.sample_bytes == 1) return decode(pixels);
  if (codec->decode_wide == nullptr) {
    return DecodeWidened(AsWide(pixels), decode);
  }
  return DecodeOrLuma(options.channels, AsWide(pixels),
                      [&](int64_t c, auto out) {
                        return codec->decode_wide(file, size, c, out);
                      });
}

}  // namespace

void UseImageCodecs(std::span<const ImageCodec> codecs) {
  OtherCodecs() = codecs;
}

ImageDecoder::ImageDecoder() : jpeg_(std::make_unique<JpegDecoder>()) {}
ImageDecoder::~ImageDecoder() = default;
ImageDecoder::ImageDecoder(ImageDecoder&&) noexcept = default;
ImageDecoder& ImageDecoder::operator=(ImageDecoder&&) noexcept = default;

absl::StatusOr<ImageSize> ImageDecoder::ReadStoredSize(
    std::string_view file, const DecodeOptions& options) {
  absl::StatusOr<ImageSize> size = IsJpeg(file)  ? jpeg_->ReadSize(file)
                                   : IsPng(file) ? ReadPngSize(file)
                                                 : ReadRgbSize(file);
  if (size.ok()) FM_RETURN_IF_ERROR(CheckSize(*size));
  if (size.ok() && options.at_least && IsJpeg(file)) {
    return ShrunkSize(*size, *options.at_least);
  }
  return size;
}

absl::StatusOr<ImageSize> ImageDecoder::ReadSize(std::string_view file,
                                                 const DecodeOptions& options) {
  if (!options.apply_exif_orientation) return ReadStoredSize(file, options);
  const Orientation orientation = ReadOrientation(file);
  DecodeOptions stored = options;
  if (options.at_least) stored.at_least = orientation.Turned(*options.at_least);
  FM_ASSIGN_OR_RETURN(const ImageSize size, ReadStoredSize(file, stored));
  return orientation.Turned(size);
}

absl::Status ImageDecoder::Decode(std::string_view file,
                                  const DecodeOptions& options, ImageSize size,
                                  std::span<uint8_t> pixels) {
  errno = 0;
  const Orientation orientation =
      options.apply_exif_orientation ? ReadOrientation(file) : Orientation{};
  absl::Status decoded;
  if (!orientation.changes()) {
    decoded = DecodeStored(file, options, size, pixels);
  } else {
    const ImageSize stored_size = orientation.Turned(size);
    DecodeOptions as_stored = options;
    if (options.needed) {
      as_stored.needed = orientation.StoredBox(*options.needed, stored_size);
    }
    std::vector<uint8_t> stored(pixels.size());
    decoded = DecodeStored(file, as_stored, stored_size, stored);
    if (decoded.ok()) {
      OrientPixels(std::as_bytes(std::span(stored)), stored_size,
                   static_cast<size_t>(options.channels * options.sample_bytes),
                   orientation, options.needed, std::as_writable_bytes(pixels));
    }
  }
  // The libraries report a failed allocation like a damaged file, or not at
  // all.
  if (!decoded.ok() && errno == ENOMEM) throw std::bad_alloc();
  return decoded;
}

absl::Status ImageDecoder::DecodeStored(std::string_view file,
                                        const DecodeOptions& options,
                                        ImageSize size,
                                        std::span<uint8_t> pixels) {
  FM_CHECK(options.channels == 1 || options.channels == 3 ||
           options.channels == 4);
  FM_CHECK(pixels.size() ==
           PixelCount(size) *
               static_cast<size_t>(options.channels * options.sample_bytes));
  if (IsPng(file)) return DecodePng(file, options, size, pixels);
  if (!IsJpeg(file)) return DecodeRgbOrGray(file, options, size, pixels);
  const auto decode = [&](std::span<uint8_t> target) {
    return jpeg_->Decode(file, options, size, target);
  };
  return options.sample_bytes == 1 ? decode(pixels)
                                   : DecodeWidened(AsWide(pixels), decode);
}

namespace {

int64_t ScaledSide(int64_t side, int64_t numerator, int64_t denominator) {
  if (denominator < 1) return 0;
  return static_cast<int64_t>(static_cast<double>(side * numerator) /
                              static_cast<double>(denominator));
}

}  // namespace

ImageSize SizeBySide(ImageSize image, bool longer, int64_t length,
                     int64_t most) {
  const bool tall = image.height >= image.width;
  const int64_t shorter = tall ? image.width : image.height;
  const int64_t longest = tall ? image.height : image.width;
  int64_t low = longer ? ScaledSide(length, shorter, longest) : length;
  int64_t high = longer ? length : ScaledSide(length, longest, shorter);
  if (most > 0 && high > most) {
    low = ScaledSide(most, low, high);
    high = most;
  }
  return tall ? ImageSize{high, low} : ImageSize{low, high};
}

absl::Status ResizeImage(std::span<const uint8_t> source, ImageSize from,
                         std::span<uint8_t> target, ImageSize to,
                         int64_t channels, ResizeMethod method) {
  for (ImageSize size : {from, to}) {
    const absl::Status status = CheckSize(size);
    if (!status.ok()) return InvalidArgument("resize: {}", ErrorText(status));
  }
  if (channels < 1 || channels > CV_CN_MAX) {
    return InvalidArgument("resize: {} channels; 1 to {} can be resized",
                           channels, CV_CN_MAX);
  }
  FM_CHECK(source.size() == PixelCount(from) * static_cast<size_t>(channels));
  FM_CHECK(target.size() == PixelCount(to) * static_cast<size_t>(channels));
  if (from == to) {
    std::memcpy(target.data(), source.data(), source.size());
    return absl::OkStatus();
  }
  if (method == ResizeMethod::kAntialias) {
    const auto count = static_cast<size_t>(channels);
    ResizeAntialias(source.data(), static_cast<size_t>(from.width) * count,
                    from, count, AntialiasTaps::kBilinear, target.data(), to);
    return absl::OkStatus();
  }
  if (channels == 3 && method == ResizeMethod::kBilinear &&
      ResizeRgbBilinear(source, static_cast<size_t>(from.width) * 3, from,
                        target.data(), to)) {
    return absl::OkStatus();
  }
  // feedmill parallelises by its own threads; OpenCV's threads would compete.
  static const bool one_thread = (cv::setNumThreads(0), true);
  static_cast<void>(one_thread);
  const int type = CV_8UC(static_cast<int>(channels));
  const cv::Mat in(static_cast<int>(from.height), static_cast<int>(from.width),
                   type, const_cast<uint8_t*>(source.data()));
  cv::Mat out(static_cast<int>(to.height), static_cast<int>(to.width), type,
              target.data());
  try {
    cv::resize(in, out, out.size(), 0, 0,
               method == ResizeMethod::kBilinear ? cv::INTER_LINEAR
                                                 : cv::INTER_NEAREST);
  } catch (const cv::Exception& error) {
    return InvalidArgument("resize: {}", error.err);
  }
  FM_CHECK(out.data == target.data());
  return absl::OkStatus();
}

namespace {

// Pixels whose size is known at compile time are moved in registers.
template <size_t kPixelBytes>
void ReverseRow(const std::byte* source, std::byte* target, int64_t width) {
  struct Pixel {
    std::byte bytes[kPixelBytes];
  };
  const auto* from = reinterpret_cast<const Pixel*>(source);
  auto* to = reinterpret_cast<Pixel*>(target);
  if (from == to) {
    std::reverse(to, to + width);
  } else {
    std::reverse_copy(from, from + width, to);
  }
}

#if defined(__x86_64__)

// Reverses the three-byte pixels [left, right) of a row in place, five from
// each end at a time. Returns the remaining range in the middle.
__attribute__((target("ssse3"))) std::pair<int64_t, int64_t> ReverseEndsOfRgb(
    std::byte* row, int64_t left, int64_t right) {
  // Each load has one byte too many, which is written back unchanged.
  const __m128i from_left =
      _mm_setr_epi8(-1, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2);
  const __m128i from_right =
      _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1);
  const __m128i first =
      _mm_setr_epi8(-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i last =
      _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1);
  for (; right - left >= 12; left += 5, right -= 5) {
    auto* const l = reinterpret_cast<__m128i*>(row + left * 3);
    auto* const r = reinterpret_cast<__m128i*>(row + right * 3 - 16);
    const __m128i a = _mm_loadu_si128(l);
    const __m128i b = _mm_loadu_si128(r);
    _mm_storeu_si128(l, _mm_or_si128(_mm_shuffle_epi8(b, from_right),
                                     _mm_and_si128(a, last)));
    _mm_storeu_si128(r, _mm_or_si128(_mm_shuffle_epi8(a, from_left),
                                     _mm_and_si128(b, first)));
  }
  return {left, right};
}

#endif

void ReverseRgbRow(const std::byte* source, std::byte* target, int64_t width) {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("ssse3") != 0;
  if (fast && source == target) {
    const auto [left, right] = ReverseEndsOfRgb(target, 0, width);
    ReverseRow<3>(target + left * 3, target + left * 3, right - left);
    return;
  }
#endif
  ReverseRow<3>(source, target, width);
}

void ReverseRowOf(const std::byte* source, std::byte* target, int64_t width,
                  size_t pixel_bytes) {
  switch (pixel_bytes) {
    case 1:
      return ReverseRow<1>(source, target, width);
    case 3:
      return ReverseRgbRow(source, target, width);
    case 4:
      return ReverseRow<4>(source, target, width);
    case 12:
      return ReverseRow<12>(source, target, width);
    default:
      break;
  }
  for (int64_t left = 0, right = width - 1; left <= right; ++left, --right) {
    const size_t l = static_cast<size_t>(left) * pixel_bytes;
    const size_t r = static_cast<size_t>(right) * pixel_bytes;
    for (size_t i = 0; i < pixel_bytes; ++i) {
      const std::byte first = source[l + i];
      target[l + i] = source[r + i];
      target[r + i] = first;
    }
  }
}

}  // namespace

void FlipImage(std::span<const std::byte> source, std::span<std::byte> target,
               ImageSize size, size_t pixel_bytes, FlipDirection direction) {
  FM_CHECK(source.size() == PixelCount(size) * pixel_bytes);
  FM_CHECK(target.size() == source.size());
  const size_t row_bytes = static_cast<size_t>(size.width) * pixel_bytes;
  const size_t height = static_cast<size_t>(size.height);
  if (row_bytes == 0) return;
  if (direction == FlipDirection::kHorizontal) {
    for (size_t y = 0; y < height; ++y) {
      ReverseRowOf(source.data() + y * row_bytes, target.data() + y * row_bytes,
                   size.width, pixel_bytes);
    }
  } else if (source.data() != target.data()) {
    for (size_t y = 0; y < height; ++y) {
      std::memcpy(target.data() + y * row_bytes,
                  source.data() + (height - 1 - y) * row_bytes, row_bytes);
    }
  } else {
    for (size_t y = 0; y < height / 2; ++y) {
      std::byte* top = target.data() + y * row_bytes;
      std::swap_ranges(top, top + row_bytes,
                       target.data() + (height - 1 - y) * row_bytes);
    }
  }
}

}  // namespace feedmill
