#ifndef FEEDMILL_CORE_OPS_GIF_IMAGE_H_
#define FEEDMILL_CORE_OPS_GIF_IMAGE_H_

#include "core/ops/image.h"

namespace feedmill {

bool IsGif(std::string_view file);

// The GIF part of ImageDecoder: the first image of the file, as Pillow gives
// it. The screen around a smaller image has the transparent colour, or the
// first one if none is transparent.
absl::StatusOr<ImageSize> ReadGifSize(std::string_view file);
absl::Status DecodeGif(std::string_view file, ImageSize size,
                       std::span<uint8_t> rgb);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_GIF_IMAGE_H_
