#ifndef FEEDMILL_CORE_OPS_IMAGE_FORMATS_H_
#define FEEDMILL_CORE_OPS_IMAGE_FORMATS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/ops/image.h"

namespace feedmill {

// Converts three samples to Pillow's "L" (ITU-R 601-2).
template <class Sample>
Sample Luma(const Sample* rgb) {
  return static_cast<Sample>((rgb[0] * uint64_t{19595} +
                              rgb[1] * uint64_t{38470} +
                              rgb[2] * uint64_t{7471} + 0x8000) >>
                             16);
}

// Red, green, blue and alpha of the indexes 0 to 255. Colours that a file lacks
// are black.
using Palette = std::array<std::array<uint8_t, 4>, 256>;

inline Palette BlackPalette() {
  Palette palette;
  palette.fill({0, 0, 0, 255});
  return palette;
}

// A codec that makes RGB or RGBA pixels.
struct ImageCodec {
  bool (*recognizes)(std::string_view file);
  absl::StatusOr<ImageSize> (*read_size)(std::string_view file);
  absl::Status (*decode)(std::string_view file, ImageSize size,
                         int64_t channels, std::span<uint8_t> pixels);
  // For files that may have samples of 16 bits; else null.
  absl::Status (*decode_wide)(std::string_view file, ImageSize size,
                              int64_t channels,
                              std::span<uint16_t> pixels) = nullptr;
};

// Has all decoders of this process use these codecs, too, for files that no
// other codec recognizes. `codecs` must outlive all images.
void UseImageCodecs(std::span<const ImageCodec> codecs);

inline bool IsTiff(std::string_view file) {
  using std::string_view_literals::operator""sv;
  return file.starts_with("II*\0"sv) || file.starts_with("MM\0*"sv) ||
         file.starts_with("II+\0"sv) || file.starts_with("MM\0+"sv);
}

// The decoders of files make RGB or RGBA, or what DecodeOptions say.

bool IsBmp(std::string_view file);

// The BMP part of ImageDecoder: palettes of 1 to 8 bits, also run-length
// coded, and 16, 24 and 32 bits a pixel, also with masks. Only a mask makes
// alpha, as in Pillow.
absl::StatusOr<ImageSize> ReadBmpSize(std::string_view file);
absl::Status DecodeBmp(std::string_view file, ImageSize size, int64_t channels,
                       std::span<uint8_t> pixels);

bool IsGif(std::string_view file);

// The GIF part of ImageDecoder: the first image of the file, as Pillow gives
// it. The screen around a smaller image has the transparent colour, or the
// first one if none is transparent.
absl::StatusOr<ImageSize> ReadGifSize(std::string_view file);
absl::Status DecodeGif(std::string_view file, ImageSize size, int64_t channels,
                       std::span<uint8_t> pixels);

bool IsPng(std::string_view file);

// The PNG part of ImageDecoder.
absl::StatusOr<ImageSize> ReadPngSize(std::string_view file);
absl::Status DecodePng(std::string_view file, const DecodeOptions& options,
                       ImageSize size, std::span<uint8_t> pixels);

bool IsPnm(std::string_view file);

// The part of ImageDecoder for PBM, PGM and PPM (P1 to P6). Samples of a
// maximum other than 255, or 65,535 for the wide pixels, are scaled to it and
// rounded, as by Pillow. Only the first image of a file is read.
absl::StatusOr<ImageSize> ReadPnmSize(std::string_view file);
absl::Status DecodePnm(std::string_view file, ImageSize size, int64_t channels,
                       std::span<uint8_t> pixels);
absl::Status DecodeWidePnm(std::string_view file, ImageSize size,
                           int64_t channels, std::span<uint16_t> pixels);

bool IsWebp(std::string_view file);

// The WebP part of ImageDecoder: the image, or the first one of an animation.
absl::StatusOr<ImageSize> ReadWebpSize(std::string_view file);
absl::Status DecodeWebp(std::string_view file, ImageSize size, int64_t channels,
                        std::span<uint8_t> pixels);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_IMAGE_FORMATS_H_
