#ifndef FEEDMILL_TESTS_REFERENCE_FLOAT_FUNCTIONS_H_
#define FEEDMILL_TESTS_REFERENCE_FLOAT_FUNCTIONS_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "feedmill/element.h"

// Functions of float and double, by name, and rounding to the float dtypes.

namespace feedmill::reference {

// Rounds to the nearest number of `precision` bits, an even one of two. Numbers
// are multiples of 2^lowest; from `infinite` on they are infinite.
inline long double RoundTo(int precision, int lowest, long double infinite,
                           long double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent = 0;
  std::frexp(v, &exponent);
  const int unit = std::max(exponent - precision, lowest);
  const long double rounded =
      std::ldexp(std::nearbyint(std::ldexp(v, -unit)), unit);
  return std::fabs(rounded) < infinite
             ? rounded
             : std::copysign(std::numeric_limits<long double>::infinity(), v);
}

// Returns the item of a float dtype for a number.
inline long double Rounded(DType t, long double v) {
  if (t == DType::kFloat64) return static_cast<double>(v);
  if (t == DType::kFloat32) return static_cast<float>(v);
  if (t == DType::kFloat16) return RoundTo(11, -24, 0x1p16L, v);
  return RoundTo(8, -133, 0x1p128L, static_cast<float>(v));
}

// True for the dtypes that are computed as float.
inline bool IsSmallFloat(DType t) { return IsFloat(t) && t != DType::kFloat64; }

template <class F>
F FloorDivFloat(F a, F b) {  // numpy's npy_floor_divide
  if (b == 0) return a / b;
  F mod = std::fmod(a, b);
  F div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) div -= F{1};
  }
  if (div != 0) {
    F floored = std::floor(div);
    if (div - floored > F(0.5)) floored += F{1};
    return floored;
  }
  return std::copysign(F{0}, a / b);
}

template <class F>
F RemainderFloat(F a, F b) {  // numpy's npy_remainder
  F mod = std::fmod(a, b);
  if (b == 0) return mod;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) mod += b;
  } else {
    mod = std::copysign(F{0}, b);
  }
  return mod;
}

template <class F>
F Floats(const std::string& f, F a, F b) {
  if (f == "add") return a + b;
  if (f == "subtract") return a - b;
  if (f == "multiply") return a * b;
  if (f == "divide") return a / b;
  if (f == "floor_divide") return FloorDivFloat(a, b);
  if (f == "remainder") return RemainderFloat(a, b);
  if (f == "power") return std::pow(a, b);
  throw std::logic_error("unknown float operation " + f);
}

template <class F>
F FloatFunction(const std::string& f, F x) {
  if (f == "sqrt") return std::sqrt(x);
  if (f == "exp") return std::exp(x);
  if (f == "log") return std::log(x);
  if (f == "sin") return std::sin(x);
  if (f == "cos") return std::cos(x);
  if (f == "tanh") return std::tanh(x);
  if (f == "log1p") return std::log1p(x);
  if (f == "expm1") return std::expm1(x);
  throw std::logic_error("unknown function " + f);
}

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_FLOAT_FUNCTIONS_H_
