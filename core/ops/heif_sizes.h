#ifndef FEEDMILL_CORE_OPS_HEIF_SIZES_H_
#define FEEDMILL_CORE_OPS_HEIF_SIZES_H_

#include <string_view>

#include "absl/status/status.h"

namespace feedmill {

// Checks what decoding the primary image of a HEIF or AVIF file would allocate.
// libheif believes the coded data, and a file of 1 KB whose boxes declare
// 16 x 16 can have 8192 x 8192 there. Coded images may be about twice as high
// and wide as declared; those that a grid or an overlay is made of may have
// about four times its pixels. DataLoss beyond that, for images of more than
// kImagePixelsMax, and for boxes that can be read in two ways.
// Source: ISO/IEC 14496-12 (boxes) and 23008-12 (items).
absl::Status CheckHeifSizes(std::string_view file);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_HEIF_SIZES_H_
