#ifndef FEEDMILL_CORE_OPS_WEBP_IMAGE_H_
#define FEEDMILL_CORE_OPS_WEBP_IMAGE_H_

#include "core/ops/image.h"

namespace feedmill {

bool IsWebp(std::string_view file);

// The WebP part of ImageDecoder: the image, or the first one of an animation.
absl::StatusOr<ImageSize> ReadWebpSize(std::string_view file);
absl::Status DecodeWebp(std::string_view file, ImageSize size,
                        std::span<uint8_t> rgb);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_WEBP_IMAGE_H_
