#ifndef FEEDMILL_CORE_OPS_BMP_IMAGE_H_
#define FEEDMILL_CORE_OPS_BMP_IMAGE_H_

#include "core/ops/image.h"

namespace feedmill {

bool IsBmp(std::string_view file);

// The BMP part of ImageDecoder: palettes of 1 to 8 bits, also run-length
// coded, and 16, 24 and 32 bits a pixel, also with masks. Alpha is dropped.
absl::StatusOr<ImageSize> ReadBmpSize(std::string_view file);
absl::Status DecodeBmp(std::string_view file, ImageSize size,
                       std::span<uint8_t> rgb);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_BMP_IMAGE_H_
