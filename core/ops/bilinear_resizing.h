#ifndef FEEDMILL_CORE_OPS_BILINEAR_RESIZING_H_
#define FEEDMILL_CORE_OPS_BILINEAR_RESIZING_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/ops/image.h"

namespace feedmill {

// What OpenCV's INTER_LINEAR makes of an image of three 8-bit channels, bit by
// bit, in a fraction of the time. False, and nothing done, where OpenCV has to:
// LoopTarget() is below kAvx2, the sizes are the same, or both sides are halved
// (of which OpenCV takes means).
//
// `source` begins with the first pixel of the image, whose rows begin
// `row_bytes` apart; what is behind its end is not read. `target` has no gaps.
// REQUIRES: the sizes are within the limits of image.h and the memory is there.
bool ResizeRgbBilinear(std::span<const uint8_t> source, size_t row_bytes,
                       ImageSize from, uint8_t* target, ImageSize to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_BILINEAR_RESIZING_H_
