#ifndef FEEDMILL_CORE_OPS_LUMA_H_
#define FEEDMILL_CORE_OPS_LUMA_H_

#include <cstdint>

namespace feedmill {

// Converts three bytes to Pillow's "L" (ITU-R 601-2).
inline uint8_t Luma(const uint8_t* rgb) {
  return static_cast<uint8_t>(
      (rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_LUMA_H_
