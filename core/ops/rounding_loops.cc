#include <cmath>

#include "core/ops/loops.h"

// Compiled with -fno-math-errno -fno-trapping-math (CMakeLists.txt), so that
// sqrt and the selections below vectorise. Neither flag changes a result.

namespace feedmill {
namespace {

struct Sqrt {
  template <class T>
  static T Apply(T a) {
    return std::sqrt(a);
  }
};
struct Exp {
  template <class T>
  static T Apply(T a) {
    return std::exp(a);
  }
};
struct Log {
  template <class T>
  static T Apply(T a) {
    return std::log(a);
  }
};

// Rounds half to even: adding 2^52 removes the fraction. This vectorises, also
// on baseline x86-64, which has no rounding instruction.
template <class T>
constexpr T kNoFraction =
    sizeof(T) == 8 ? static_cast<T>(0x1p52) : static_cast<T>(0x1p23);
template <class T>
T RoundHalfToEven(T a) {
  const T magnitude = std::fabs(a);
  const T rounded = (magnitude + kNoFraction<T>)-kNoFraction<T>;
  return std::copysign(magnitude < kNoFraction<T> ? rounded : magnitude, a);
}

// In all three, NaN stays NaN, because magnitude < … is false.
struct Round {
  template <class T>
  static T Apply(T a) {
    return RoundHalfToEven(a);
  }
};
struct Floor {
  template <class T>
  static T Apply(T a) {
    const T rounded = RoundHalfToEven(a);
    return std::copysign(rounded > a ? rounded - T{1} : rounded, a);
  }
};
struct Ceil {
  template <class T>
  static T Apply(T a) {
    const T rounded = RoundHalfToEven(a);
    return std::copysign(rounded < a ? rounded + T{1} : rounded, a);
  }
};

// Integers and bools have no fraction.
template <class Op>
Loop FloatOrUnchanged(DType calc) {
  return IsFloat(calc) ? FloatUnary<Op>(calc) : CopyLoop(calc);
}

}  // namespace

Loop SqrtLoop(DType calc) { return FloatUnary<Sqrt>(calc); }
Loop ExpLoop(DType calc) { return FloatUnary<Exp>(calc); }
Loop LogLoop(DType calc) { return FloatUnary<Log>(calc); }
Loop FloorLoop(DType calc) { return FloatOrUnchanged<Floor>(calc); }
Loop CeilLoop(DType calc) { return FloatOrUnchanged<Ceil>(calc); }
Loop RoundLoop(DType calc) {
  // NumPy rounds bools to float16, which would be a surprise.
  return calc == DType::kBool ? nullptr : FloatOrUnchanged<Round>(calc);
}

}  // namespace feedmill
