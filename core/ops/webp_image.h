#ifndef FEEDMILL_CORE_OPS_WEBP_IMAGE_H_
#define FEEDMILL_CORE_OPS_WEBP_IMAGE_H_

#include "core/ops/image.h"

namespace feedmill {

bool IsWebp(std::string_view file);

// The WebP part of ImageDecoder. Grey is Pillow's "L": the luma of the RGB
// pixels.
absl::StatusOr<ImageSize> ReadWebpSize(std::string_view file);
absl::Status DecodeWebp(std::string_view file, int64_t channels, ImageSize size,
                        std::span<uint8_t> pixels);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_WEBP_IMAGE_H_
