#ifndef FEEDMILL_CORE_OPS_IMAGE_H_
#define FEEDMILL_CORE_OPS_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/image_box.h"

// Image kernels over plain memory: pixels are rows of width * channels bytes,
// without gaps.

namespace feedmill {

// Larger images are refused before any memory is allocated for them.
inline constexpr int64_t kImageSideMax = 65'500;
inline constexpr int64_t kImagePixelsMax = int64_t{256} << 20;

struct DecodeOptions {
  int64_t channels = 3;   // 3 (RGB), 1 (luma) or 4 (RGBA)
  bool fast_dct = false;  // JPEG: libjpeg-turbo's fast inverse DCT
  // JPEG: decode to 1/8, 1/4 or 1/2 of the height and width, the smallest of
  // them that is at least this large; otherwise the full size. REQUIRES: both
  // sides are at least 2.
  std::optional<ImageSize> at_least{};
  // True: a warning of the codec is DataLoss. False: it is counted as a data
  // warning (JPEG: any warning of libjpeg; PNG: damage after the pixels).
  bool fail_on_warning = false;
  // True: a JPEG whose data ends early is decoded as libjpeg does, with
  // invented pixels for the missing data. False: it is DataLoss.
  bool pad_truncated = false;
  // Only these pixels are read; Decode may leave others as they are. Damage of
  // the file that they do not depend on may not be found.
  std::optional<ImageBox> needed{};
  // Turns and flips the image by the file's EXIF orientation.
  bool apply_exif_orientation = false;
  // Bytes of a sample: 1, or 2 in the byte order of this machine.
  int64_t sample_bytes = 1;
};

class JpegDecoder;

// Decodes JPEG, PNG, WebP, GIF, BMP and PNM, recognised by their first bytes.
// Decodes the first image of an animation. Reuses codec state from image to
// image.
//
// Grey is replicated to RGB. Alpha is dropped without a channel for it, and
// opaque in files without it. CMYK becomes RGB as by Pillow. A result of bytes
// has the high bytes of samples of 16 bits; a result of 16 bits has bytes
// times 257. DataLoss if the codec rejects the input or the input is truncated.
// Thread-compatible: one decoder per thread.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;

  // Returns the size of the result of Decode; reads only the header.
  absl::StatusOr<ImageSize> ReadSize(std::string_view file,
                                     const DecodeOptions& options = {});
  // Decodes the image into `pixels`. REQUIRES: `size` is the result of
  // ReadSize with the same options, and pixels.size() == height * width *
  // channels * sample_bytes.
  absl::Status Decode(std::string_view file, const DecodeOptions& options,
                      ImageSize size, std::span<uint8_t> pixels);

 private:
  absl::StatusOr<ImageSize> ReadStoredSize(std::string_view file,
                                           const DecodeOptions& options);
  absl::Status DecodeStored(std::string_view file, const DecodeOptions& options,
                            ImageSize size, std::span<uint8_t> pixels);

  std::unique_ptr<JpegDecoder> jpeg_;
};

// Returns the size of an image after resizing its shorter or longer side to
// `length`, as torchvision's Resize does: the other side keeps the ratio,
// rounded down. If `most` is not 0, the longer side is at most that, and the
// ratio is kept. A side is 0 if no pixel is left of it.
ImageSize SizeBySide(ImageSize image, bool longer, int64_t length,
                     int64_t most = 0);

enum class ResizeMethod { kBilinear, kNearest, kAntialias };

// Resizes as OpenCV's INTER_LINEAR and INTER_NEAREST, or as ResizeAntialias
// with the bilinear filter; the same size is a copy.
// InvalidArgument if an image is empty or exceeds the limits above. REQUIRES:
// the ranges have the sizes that follow from the arguments, and do not overlap.
absl::Status ResizeImage(std::span<const uint8_t> source, ImageSize from,
                         std::span<uint8_t> target, ImageSize to,
                         int64_t channels, ResizeMethod method);

enum class FlipDirection { kHorizontal, kVertical };

// Flips an image of any pixel type; `source` may be `target` itself, but the
// ranges must not overlap otherwise. REQUIRES: both have height * width *
// pixel_bytes bytes.
void FlipImage(std::span<const std::byte> source, std::span<std::byte> target,
               ImageSize size, size_t pixel_bytes, FlipDirection direction);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_H_
