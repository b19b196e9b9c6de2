#ifndef FEEDMILL_CORE_OPS_PNG_IMAGE_H_
#define FEEDMILL_CORE_OPS_PNG_IMAGE_H_

#include "core/ops/image.h"

namespace feedmill {

bool IsPng(std::string_view file);

// The PNG part of ImageDecoder.
absl::StatusOr<ImageSize> ReadPngSize(std::string_view file);
absl::Status DecodePng(std::string_view file, const DecodeOptions& options,
                       ImageSize size, std::span<uint8_t> pixels);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_PNG_IMAGE_H_
