#ifndef FEEDMILL_CORE_OPS_PNM_IMAGE_H_
#define FEEDMILL_CORE_OPS_PNM_IMAGE_H_

#include "core/ops/image.h"

namespace feedmill {

bool IsPnm(std::string_view file);

// The part of ImageDecoder for PBM, PGM and PPM (P1 to P6). Samples of a
// maximum other than 255 are scaled to 0 … 255 and rounded, as by Pillow. Only
// the first image of a file is read.
absl::StatusOr<ImageSize> ReadPnmSize(std::string_view file);
absl::Status DecodePnm(std::string_view file, ImageSize size,
                       std::span<uint8_t> rgb);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_PNM_IMAGE_H_
