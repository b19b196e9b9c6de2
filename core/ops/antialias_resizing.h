#ifndef FEEDMILL_CORE_OPS_ANTIALIAS_RESIZING_H_
#define FEEDMILL_CORE_OPS_ANTIALIAS_RESIZING_H_

#include <cstddef>
#include <cstdint>

#include "core/ops/image.h"

namespace feedmill {

enum class AntialiasTaps { kBilinear, kCubic };

// Resizes an image of bytes to the same bits as PyTorch's interpolate with
// antialias=True; at most 1 from Pillow's resize. Along each axis, the filter
// is as wide as the distance of target pixels.
//
// `source` begins with the first pixel of the image; its rows begin `row_bytes`
// apart. `target` has no gaps between rows. REQUIRES: both sizes are within the
// limits of image.h.
void ResizeAntialias(const uint8_t* source, size_t row_bytes, ImageSize from,
                     size_t channels, AntialiasTaps filter, uint8_t* target,
                     ImageSize to);
// The same for floats: sums in double precision, rounded after each axis.
void ResizeAntialias(const float* source, size_t row_bytes, ImageSize from,
                     size_t channels, AntialiasTaps filter, float* target,
                     ImageSize to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_ANTIALIAS_RESIZING_H_
