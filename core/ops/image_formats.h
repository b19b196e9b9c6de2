#ifndef FEEDMILL_CORE_OPS_IMAGE_FORMATS_H_
#define FEEDMILL_CORE_OPS_IMAGE_FORMATS_H_

#include <array>
#include <cstdint>

#include "core/ops/image.h"

namespace feedmill {

// Converts three bytes to Pillow's "L" (ITU-R 601-2).
inline uint8_t Luma(const uint8_t* rgb) {
  return static_cast<uint8_t>(
      (rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16);
}

// The RGB values of the indexes 0 to 255. Those that a file lacks are black.
using Palette = std::array<std::array<uint8_t, 3>, 256>;

bool IsBmp(std::string_view file);

// The BMP part of ImageDecoder: palettes of 1 to 8 bits, also run-length
// coded, and 16, 24 and 32 bits a pixel, also with masks. Alpha is dropped.
absl::StatusOr<ImageSize> ReadBmpSize(std::string_view file);
absl::Status DecodeBmp(std::string_view file, ImageSize size,
                       std::span<uint8_t> rgb);

bool IsGif(std::string_view file);

// The GIF part of ImageDecoder: the first image of the file, as Pillow gives
// it. The screen around a smaller image has the transparent colour, or the
// first one if none is transparent.
absl::StatusOr<ImageSize> ReadGifSize(std::string_view file);
absl::Status DecodeGif(std::string_view file, ImageSize size,
                       std::span<uint8_t> rgb);

bool IsPng(std::string_view file);

// The PNG part of ImageDecoder.
absl::StatusOr<ImageSize> ReadPngSize(std::string_view file);
absl::Status DecodePng(std::string_view file, const DecodeOptions& options,
                       ImageSize size, std::span<uint8_t> pixels);

bool IsPnm(std::string_view file);

// The part of ImageDecoder for PBM, PGM and PPM (P1 to P6). Samples of a
// maximum other than 255 are scaled to 0 … 255 and rounded, as by Pillow. Only
// the first image of a file is read.
absl::StatusOr<ImageSize> ReadPnmSize(std::string_view file);
absl::Status DecodePnm(std::string_view file, ImageSize size,
                       std::span<uint8_t> rgb);

bool IsWebp(std::string_view file);

// The WebP part of ImageDecoder: the image, or the first one of an animation.
absl::StatusOr<ImageSize> ReadWebpSize(std::string_view file);
absl::Status DecodeWebp(std::string_view file, ImageSize size,
                        std::span<uint8_t> rgb);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_FORMATS_H_
