#include <cmath>
#include <limits>

#include "core/ops/loops.h"

namespace feedmill {
namespace {

// Integers are computed in an unsigned type at least as wide as int, which
// wraps without undefined behaviour (uint16 * uint16 would be a signed int).
template <class T>
using Wrapping =
    std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <class T>
constexpr Wrapping<T> Wrap(T v) {
  return static_cast<Wrapping<T>>(v);
}

struct Add {
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      return static_cast<T>(Wrap(a) + Wrap(b));
    }
  }
};
struct Subtract {
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a - b;
    } else {
      return static_cast<T>(Wrap(a) - Wrap(b));
    }
  }
};
struct Multiply {
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a * b;
    } else {
      return static_cast<T>(Wrap(a) * Wrap(b));
    }
  }
};
struct Divide {
  template <class T>
  static T Apply(T a, T b) {
    return a / b;
  }
};

// fmod and the matching quotient, floored as in Python and NumPy.
template <class T>
T FloatRemainder(T a, T b) {
  T mod = std::fmod(a, b);
  if (b == T{0}) return mod;
  if (mod == T{0}) return std::copysign(T{0}, b);
  if ((b < T{0}) != (mod < T{0})) mod += b;
  return mod;
}
template <class T>
T FloatFloorDivide(T a, T b) {
  if (b == T{0}) return a / b;
  T mod = std::fmod(a, b);
  T quotient = (a - mod) / b;
  if (mod != T{0} && (b < T{0}) != (mod < T{0})) quotient -= T{1};
  if (quotient == T{0}) return std::copysign(T{0}, a / b);
  const T floored = std::floor(quotient);
  return quotient - floored > T{0.5} ? floored + T{1} : floored;
}

// Floored division of signed integers by one divisor d >= 2, by multiplication:
// T. Granlund and P. Montgomery, "Division by Invariant Integers using
// Multiplication", 1994, theorem 4.2. Numerators have one bit less than T,
// because the sign is removed: for a negative n, floor(n / d) is ~floor(~n /
// d).
template <class T>
struct FloorBy {
  using U = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>;
  static constexpr uint64_t kLow = 0xffffffff;
  static constexpr int kBits = std::numeric_limits<U>::digits;

  static bool Serves(T d) { return d >= 2; }
  explicit FloorBy(T d) : divisor(d) {
    while (shift < kBits - 1 && (U{1} << shift) < static_cast<U>(d)) ++shift;
    factor = static_cast<U>(
        ((Wide{1} << (kBits - 1 + shift)) + static_cast<U>(d) - 1) /
        static_cast<U>(d));
  }
  // Returns the upper half of the product; for 64 bits, from parts that
  // vectorise.
  static U High(U a, U b) {
    if constexpr (sizeof(T) == 4) {
      return static_cast<U>((Wide{a} * b) >> kBits);
    } else {
      const uint64_t middle =
          (a >> 32) * (b & kLow) + ((a & kLow) * (b & kLow) >> 32);
      const uint64_t other = (a & kLow) * (b >> 32) + (middle & kLow);
      return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
    }
  }
  T Quotient(T n) const {
    const U sign = static_cast<U>(n >> (kBits - 1));
    const U size = static_cast<U>(n) ^ sign;
    const U high = High(size, factor);
    return static_cast<T>((high >> (shift - 1)) ^ sign);
  }

  T divisor;
  int shift = 1;
  U factor = 0;
};

template <class T>
inline constexpr bool kHasFloorBy =
    std::is_signed_v<T> && std::is_integral_v<T> && sizeof(T) >= 4;

// Division of the most negative number by -1 traps, so -1 is handled
// separately.
struct FloorDivide {
  template <class T>
    requires kHasFloorBy<T>
  struct By : FloorBy<T> {
    using FloorBy<T>::FloorBy;
    T Apply(T n) const { return this->Quotient(n); }
  };
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return FloatFloorDivide(a, b);
    } else if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(Wrap(T{0}) - Wrap(a));
      const T quotient = static_cast<T>(a / b);
      const bool inexact = static_cast<T>(quotient * b) != a;
      return static_cast<T>(quotient -
                            ((inexact && (a < 0) != (b < 0)) ? 1 : 0));
    } else {
      return static_cast<T>(a / b);
    }
  }
  template <class T>
  static bool IsBad(T b) {
    return b == T{0};
  }
};
struct Remainder {
  template <class T>
    requires kHasFloorBy<T>
  struct By : FloorBy<T> {
    using FloorBy<T>::FloorBy;
    T Apply(T n) const {
      return static_cast<T>(Wrap(n) -
                            Wrap(this->Quotient(n)) * Wrap(this->divisor));
    }
  };
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return FloatRemainder(a, b);
    } else if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
      const T mod = static_cast<T>(a % b);
      return static_cast<T>(mod + (mod != 0 && (mod < 0) != (b < 0) ? b : 0));
    } else {
      return static_cast<T>(a % b);
    }
  }
  template <class T>
  static bool IsBad(T b) {
    return b == T{0};
  }
};

struct Power {
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(a, b);
    } else {
      Wrapping<T> base = Wrap(a);
      Wrapping<T> result = 1;
      for (auto rest = static_cast<std::make_unsigned_t<T>>(b); rest != 0;) {
        if ((rest & 1) != 0) result *= base;
        base *= base;
        rest = static_cast<std::make_unsigned_t<T>>(rest >> 1);
      }
      return static_cast<T>(result);
    }
  }
  template <class T>
  static bool IsBad(T b) {
    return b < T{0};
  }
};

struct Negative {
  template <class T>
  static T Apply(T a) {
    if constexpr (std::is_floating_point_v<T>) {
      return -a;
    } else {
      return static_cast<T>(Wrap(T{0}) - Wrap(a));
    }
  }
};
struct Copy {
  template <class T>
  static T Apply(T a) {
    return a;
  }
};
struct Abs {
  template <class T>
  static T Apply(T a) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(a);
    } else if constexpr (std::is_signed_v<T>) {
      return a < 0 ? Negative::Apply(a) : a;
    } else {
      return a;
    }
  }
};
struct Square {
  template <class T>
  static T Apply(T a) {
    return Multiply::Apply(a, a);
  }
};
struct Sign {
  template <class T>
  static T Apply(T a) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return a;
    }
    return static_cast<T>((a > T{0} ? 1 : 0) - (a < T{0} ? 1 : 0));
  }
};

struct BitwiseAnd {
  template <class T>
  static T Apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <class T>
  static T Apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <class T>
  static T Apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Invert {
  template <class T>
  static T Apply(T a) {
    return static_cast<T>(~a);
  }
};
struct InvertBool {
  static uint8_t Apply(uint8_t a) {
    return a ^ uint8_t { 1 };
  }
};

template <class T>
constexpr int kBits = std::numeric_limits<std::make_unsigned_t<T>>::digits;

struct LeftShift {
  template <class T>
  static T Apply(T a, T b) {
    const auto amount = static_cast<std::make_unsigned_t<T>>(b);
    return amount < kBits<T>
               ? static_cast<T>(Wrap(a) << static_cast<unsigned>(amount))
               : T{0};
  }
  template <class T>
  static bool IsBad(T b) {
    return b < T{0};
  }
};
struct RightShift {
  template <class T>
  static T Apply(T a, T b) {
    const auto amount = static_cast<std::make_unsigned_t<T>>(b);
    const T all = a < T{0} ? static_cast<T>(-1) : T{0};
    return amount < kBits<T>
               ? static_cast<T>(a >> static_cast<unsigned>(amount))
               : all;
  }
  template <class T>
  static bool IsBad(T b) {
    return b < T{0};
  }
};

template <class Op>
Loop NumberBinary(DType calc) {
  if (calc == DType::kBool || calc == DType::kBytes) return nullptr;
  return VisitNumeric(calc, [](auto zero) -> Loop {
    return ForTarget<BinaryLoop<Op, decltype(zero)>>();
  });
}

template <class Op>
Loop NumberUnary(DType calc) {
  if (calc == DType::kBool || calc == DType::kBytes) return nullptr;
  return VisitNumeric(calc, [](auto zero) -> Loop {
    return ForTarget<UnaryLoop<Op, decltype(zero)>>();
  });
}

// Floats always have a result; integers may not.
template <class Op>
Loop CheckedNumberBinary(DType calc) {
  if (calc == DType::kBool || calc == DType::kBytes) return nullptr;
  return VisitNumeric(calc, [](auto zero) -> Loop {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) {
      return ForTarget<BinaryLoop<Op, T>>();
    } else {
      return ForTarget<CheckedBinaryLoop<Op, T>>();
    }
  });
}

template <class Op>
Loop BitsBinary(DType calc) {
  if (calc != DType::kBool && !IsInteger(calc)) return nullptr;
  return VisitNumeric(calc, [](auto zero) -> Loop {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return ForTarget<BinaryLoop<Op, T>>();
    return nullptr;
  });
}

template <class Op>
Loop Shift(DType calc) {
  if (!IsInteger(calc)) return nullptr;
  return VisitNumeric(calc, [](auto zero) -> Loop {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      return ForTarget<CheckedBinaryLoop<Op, T>>();
    return nullptr;
  });
}

}  // namespace

Loop AddLoop(DType calc) {
  if (calc == DType::kBool) return ForTarget<BinaryLoop<BitwiseOr, uint8_t>>();
  return NumberBinary<Add>(calc);
}
Loop SubtractLoop(DType calc) { return NumberBinary<Subtract>(calc); }
Loop MultiplyLoop(DType calc) {
  if (calc == DType::kBool) return ForTarget<BinaryLoop<BitwiseAnd, uint8_t>>();
  return NumberBinary<Multiply>(calc);
}
Loop DivideLoop(DType calc) {
  if (calc == DType::kFloat32) return ForTarget<BinaryLoop<Divide, float>>();
  if (calc == DType::kFloat64) return ForTarget<BinaryLoop<Divide, double>>();
  if (calc == DType::kFloat16) return ForTarget<BinaryLoop<Divide, Float16>>();
  if (calc == DType::kBFloat16) {
    return ForTarget<BinaryLoop<Divide, BFloat16>>();
  }
  return nullptr;
}
Loop FloorDivideLoop(DType calc) {
  return CheckedNumberBinary<FloorDivide>(calc);
}
Loop RemainderLoop(DType calc) { return CheckedNumberBinary<Remainder>(calc); }
Loop PowerLoop(DType calc) { return CheckedNumberBinary<Power>(calc); }
Loop NegativeLoop(DType calc) { return NumberUnary<Negative>(calc); }
Loop PositiveLoop(DType calc) { return NumberUnary<Copy>(calc); }
Loop AbsLoop(DType calc) {
  if (calc == DType::kBool) return ForTarget<UnaryLoop<Copy, uint8_t>>();
  return NumberUnary<Abs>(calc);
}
Loop SquareLoop(DType calc) { return NumberUnary<Square>(calc); }
Loop SignLoop(DType calc) { return NumberUnary<Sign>(calc); }

Loop BitwiseAndLoop(DType calc) { return BitsBinary<BitwiseAnd>(calc); }
Loop BitwiseOrLoop(DType calc) { return BitsBinary<BitwiseOr>(calc); }
Loop BitwiseXorLoop(DType calc) { return BitsBinary<BitwiseXor>(calc); }
Loop InvertLoop(DType calc) {
  if (calc == DType::kBool) return ForTarget<UnaryLoop<InvertBool, uint8_t>>();
  if (!IsInteger(calc)) return nullptr;
  return VisitNumeric(calc, [](auto zero) -> Loop {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      return ForTarget<UnaryLoop<Invert, T>>();
    return nullptr;
  });
}
Loop LeftShiftLoop(DType calc) { return Shift<LeftShift>(calc); }
Loop RightShiftLoop(DType calc) { return Shift<RightShift>(calc); }

Loop CopyLoop(DType calc) {
  if (calc == DType::kBytes) return UnaryLoop<Copy, std::string_view>;
  if (IsFloat16(calc)) return ForTarget<UnaryLoop<Copy, uint16_t>>();
  return VisitNumeric(calc, [](auto zero) -> Loop {
    return ForTarget<UnaryLoop<Copy, decltype(zero)>>();
  });
}

}  // namespace feedmill
