#ifndef FEEDMILL_CORE_BASE_HALF_FLOAT_H_
#define FEEDMILL_CORE_BASE_HALF_FLOAT_H_

#include <bit>
#include <cstdint>

namespace feedmill {

// The value of the IEEE 754 half-precision number with these bits; exact.
inline float HalfToFloat(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) {  // infinite, or none
    return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  }
  if (exponent == 0) {  // zero, or subnormal: fraction * 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? value : -value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_HALF_FLOAT_H_
