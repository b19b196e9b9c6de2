#ifndef FEEDMILL_FLOAT16_H_
#define FEEDMILL_FLOAT16_H_

#include <bit>
#include <cstdint>
#include <type_traits>

// Numbers of 16 bits: IEEE 754's binary16, which is NumPy's float16, and
// bfloat16, the upper half of a float. They are stored in 16 bits and computed
// as float: both convert from and to float without being asked to. Each
// conversion to 16 bits rounds to the nearest number, to an even one of two.
//
//   const feedmill::Float16 half = 0.1;
//   const float sum = half + half;            // 0.19995117
//   element.Tensor<feedmill::BFloat16>("x");  // a std::span of the items
//
// Thread-safe: they are values.

namespace feedmill {

namespace float16_internal {

constexpr float ToFloat(uint16_t half) {
  // The exponent moves from its place and bias in 16 bits to a float's.
  constexpr uint32_t kBias = uint32_t{127 - 15} << 23;
  constexpr uint32_t kExponent = uint32_t{31} << 23;
  const uint32_t moved = (half & uint32_t{0x7fff}) << 13;
  const uint32_t exponent = moved & kExponent;
  const uint32_t normal = moved + kBias;
  // Infinity and NaN have the largest exponent in both.
  const uint32_t special = normal + (uint32_t{128 - 16} << 23);
  constexpr uint32_t kSmallest = uint32_t{113} << 23;  // 2^-14
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(normal + (1U << 23)) -
                              std::bit_cast<float>(kSmallest));
  const uint32_t finite = exponent == 0 ? subnormal : normal;
  const uint32_t sign = (half & uint32_t{0x8000}) << 16;
  return std::bit_cast<float>((exponent == kExponent ? special : finite) |
                              sign);
}

constexpr uint16_t FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000U;
  const uint32_t size = bits ^ sign;
  const uint32_t odd = (size >> 13) & 1U;
  // Adding may carry into the exponent, up to infinity's.
  const uint32_t normal =
      (size - (uint32_t{127 - 15} << 23) + 0xfffU + odd) >> 13;
  // Below 2^-14, adding 0.5 leaves the rounded number in the lowest bits.
  constexpr uint32_t kHalf = uint32_t{126} << 23;
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(size) +
                              std::bit_cast<float>(kHalf)) -
      kHalf;
  const uint32_t not_number = 0x7e00U | ((size >> 13) & 0x3ffU);
  const uint32_t finite = size < (uint32_t{113} << 23) ? subnormal : normal;
  const uint32_t large = size > 0x7f800000U ? not_number : 0x7c00U;
  const uint32_t half = size >= (uint32_t{143} << 23) ? large : finite;  // 2^16
  return static_cast<uint16_t>(half | (sign >> 16));
}

// A double is rounded once: first to a float whose last bit is 1 if the float
// differs, so that it cannot be a tie of 16 bits.
constexpr float RoundedToOdd(double value) {
  const float near = static_cast<float>(value);
  const double back = double{near};
  if (back == value || value != value) return near;
  const uint32_t bits = std::bit_cast<uint32_t>(near);
  const bool beyond = value < 0 ? back < value : back > value;
  return std::bit_cast<float>((beyond ? bits - 1 : bits) | 1U);
}

constexpr uint16_t BrainFromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t not_number = ((bits >> 16) & 0x8000U) | 0x7fc0U;
  return static_cast<uint16_t>(value != value ? not_number : rounded);
}

}  // namespace float16_internal

// IEEE 754's binary16: 11 bits of precision, up to 65504.
class Float16 {
 public:
  constexpr Float16() = default;
  // Rounds once; an integer becomes a float first, as in NumPy.
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr Float16(T value)
      : bits_(float16_internal::FromFloat(Narrowed(value))) {}
  static constexpr Float16 FromBits(uint16_t bits) {
    Float16 half;
    half.bits_ = bits;
    return half;
  }

  constexpr uint16_t bits() const { return bits_; }
  constexpr operator float() const { return float16_internal::ToFloat(bits_); }

 private:
  template <class T>
  static constexpr float Narrowed(T value) {
    if constexpr (std::is_same_v<T, double>) {
      return float16_internal::RoundedToOdd(value);
    } else {
      return static_cast<float>(value);
    }
  }

  uint16_t bits_ = 0;
};

// The upper half of a float: 8 bits of precision, and a float's range.
class BFloat16 {
 public:
  constexpr BFloat16() = default;
  // A double or an integer becomes a float first, as in ml_dtypes and PyTorch.
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr BFloat16(T value)
      : bits_(float16_internal::BrainFromFloat(static_cast<float>(value))) {}
  static constexpr BFloat16 FromBits(uint16_t bits) {
    BFloat16 brain;
    brain.bits_ = bits;
    return brain;
  }

  constexpr uint16_t bits() const { return bits_; }
  constexpr operator float() const {
    return std::bit_cast<float>(uint32_t{bits_} << 16);
  }

 private:
  uint16_t bits_ = 0;
};

template <class T>
inline constexpr bool kIsFloat16 =
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// The type in which items of type T are computed.
template <class T>
using ComputeType = std::conditional_t<kIsFloat16<T>, float, T>;

// True for float, double and both types above.
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<ComputeType<T>>;

}  // namespace feedmill

#endif  // FEEDMILL_FLOAT16_H_
