#include <utility>

#include "core/ops/loops.h"

namespace feedmill {
namespace {

// True for integers of different signedness, which are compared exactly. The
// structs below replace std's functors, because results are uint8_t, as in
// columns of bool.
template <class A, class B>
constexpr bool kMixed = std::is_integral_v<A> && std::is_integral_v<B> &&
                        std::is_signed_v<A> != std::is_signed_v<B>;

struct Less {
  template <class A, class B>
  static uint8_t Apply(A a, B b) {
    if constexpr (kMixed<A, B>)
      return std::cmp_less(a, b) ? 1 : 0;
    else
      return a < b ? 1 : 0;
  }
};
struct LessEqual {
  template <class A, class B>
  static uint8_t Apply(A a, B b) {
    if constexpr (kMixed<A, B>)
      return std::cmp_less_equal(a, b) ? 1 : 0;
    else
      return a <= b ? 1 : 0;
  }
};
struct Equal {
  template <class A, class B>
  static uint8_t Apply(A a, B b) {
    if constexpr (kMixed<A, B>)
      return std::cmp_equal(a, b) ? 1 : 0;
    else
      return a == b ? 1 : 0;
  }
};
struct NotEqual {
  template <class A, class B>
  static uint8_t Apply(A a, B b) {
    return Equal::Apply(a, b) ^ uint8_t { 1 };
  }
};
struct Greater {
  template <class A, class B>
  static uint8_t Apply(A a, B b) {
    return Less::Apply(b, a);
  }
};
struct GreaterEqual {
  template <class A, class B>
  static uint8_t Apply(A a, B b) {
    return LessEqual::Apply(b, a);
  }
};

template <class Op>
Loop Compare(DType a, DType b) {
  if (a == DType::kBytes) return BinaryLoop<Op, std::string_view>;
  if (a == DType::kInt64 && b == DType::kUInt64) {
    return ForTarget<BinaryLoop<Op, int64_t, uint64_t>>();
  }
  if (a == DType::kUInt64 && b == DType::kInt64) {
    return ForTarget<BinaryLoop<Op, uint64_t, int64_t>>();
  }
  return VisitNumeric(a, [](auto zero) -> Loop {
    return ForTarget<BinaryLoop<Op, decltype(zero)>>();
  });
}

struct LogicalAnd {
  static uint8_t Apply(uint8_t a, uint8_t b) { return a & b; }
};
struct LogicalOr {
  static uint8_t Apply(uint8_t a, uint8_t b) { return a | b; }
};
struct LogicalNot {
  static uint8_t Apply(uint8_t a) {
    return a ^ uint8_t { 1 };
  }
};

// NumPy's rule: if either operand is NaN, the result is NaN.
struct Minimum {
  template <class T>
  static T Apply(T a, T b) {
    return a <= b || a != a ? a : b;
  }
};
struct Maximum {
  template <class T>
  static T Apply(T a, T b) {
    return a >= b || a != a ? a : b;
  }
};

template <class T>
[[gnu::always_inline]] inline size_t RunClip(const LoopInputs& in, void* out,
                                             size_t n) {
  const T* __restrict a = static_cast<const T*>(in.items[0]);
  const T* __restrict low = static_cast<const T*>(in.items[1]);
  const T* __restrict high = static_cast<const T*>(in.items[2]);
  T* __restrict r = static_cast<T*>(out);
  if (in.last_is_scalar) {
    const T scalar = *high;
    for (size_t i = 0; i < n; ++i) {
      r[i] = Minimum::Apply(Maximum::Apply(a[i], low[i]), scalar);
    }
    return n;
  }
  for (size_t i = 0; i < n; ++i) {
    r[i] = Minimum::Apply(Maximum::Apply(a[i], low[i]), high[i]);
  }
  return n;
}

template <class T>
[[gnu::always_inline]] inline size_t RunSelect(const LoopInputs& in, void* out,
                                               size_t n) {
  const uint8_t* __restrict c = static_cast<const uint8_t*>(in.items[0]);
  const T* __restrict a = static_cast<const T*>(in.items[1]);
  const T* __restrict b = static_cast<const T*>(in.items[2]);
  T* __restrict r = static_cast<T*>(out);
  // Both operands are always loaded, so that the loop has no branch.
  if (in.last_is_scalar) {
    const T otherwise = *b;
    for (size_t i = 0; i < n; ++i) {
      const T chosen = a[i];
      r[i] = c[i] != 0 ? chosen : otherwise;
    }
    return n;
  }
  for (size_t i = 0; i < n; ++i) {
    const T chosen = a[i];
    const T otherwise = b[i];
    r[i] = c[i] != 0 ? chosen : otherwise;
  }
  return n;
}

struct Length {
  static int64_t Apply(std::string_view a) {
    return static_cast<int64_t>(a.size());
  }
};

template <class Op>
Loop NumericBinary(DType calc) {
  if (calc == DType::kBytes) return nullptr;
  return VisitNumeric(calc, [](auto zero) -> Loop {
    return ForTarget<BinaryLoop<Op, decltype(zero)>>();
  });
}

}  // namespace

Loop ComparisonLoop(Comparison comparison, DType a, DType b) {
  switch (comparison) {
    case Comparison::kLess:
      return Compare<Less>(a, b);
    case Comparison::kLessEqual:
      return Compare<LessEqual>(a, b);
    case Comparison::kGreater:
      return Compare<Greater>(a, b);
    case Comparison::kGreaterEqual:
      return Compare<GreaterEqual>(a, b);
    case Comparison::kEqual:
      return Compare<Equal>(a, b);
    case Comparison::kNotEqual:
      return Compare<NotEqual>(a, b);
  }
  return nullptr;
}

Loop LogicalAndLoop(DType) {
  return ForTarget<BinaryLoop<LogicalAnd, uint8_t>>();
}
Loop LogicalOrLoop(DType) {
  return ForTarget<BinaryLoop<LogicalOr, uint8_t>>();
}
Loop LogicalNotLoop(DType) {
  return ForTarget<UnaryLoop<LogicalNot, uint8_t>>();
}

Loop MinimumLoop(DType calc) { return NumericBinary<Minimum>(calc); }
Loop MaximumLoop(DType calc) { return NumericBinary<Maximum>(calc); }

Loop ClipLoop(DType calc) {
  if (calc == DType::kBytes) return nullptr;
  return VisitNumeric(calc, [](auto zero) -> Loop {
    return ForTarget<RunClip<decltype(zero)>>();
  });
}

Loop SelectLoop(DType result) {
  if (result == DType::kBytes) return RunSelect<std::string_view>;
  return VisitNumeric(result, [](auto zero) -> Loop {
    return ForTarget<RunSelect<decltype(zero)>>();
  });
}

Loop LengthLoop(DType calc) {
  return calc == DType::kBytes ? UnaryLoop<Length, std::string_view> : nullptr;
}

}  // namespace feedmill
