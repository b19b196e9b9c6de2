#ifndef FEEDMILL_CORE_OPS_BILINEAR_RESIZING_H_
#define FEEDMILL_CORE_OPS_BILINEAR_RESIZING_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/ops/image.h"

namespace feedmill {

// Resizes an image of three 8-bit channels to the same bits as OpenCV's
// INTER_LINEAR, in a fraction of the time. Returns false without any effect if
// OpenCV has to do it: LoopTarget() is below kAvx2, the sizes are the same, or
// both sides are halved (OpenCV then takes means).
//
// `source` begins with the first pixel of the image; its rows begin `row_bytes`
// apart. Bytes after its end are not read. `target` has no gaps between rows.
// REQUIRES: the sizes are within the limits of image.h, and both ranges are
// large enough.
bool ResizeRgbBilinear(std::span<const uint8_t> source, size_t row_bytes,
                       ImageSize from, uint8_t* target, ImageSize to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_BILINEAR_RESIZING_H_
