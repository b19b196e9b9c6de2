#ifndef FEEDMILL_CORE_OPS_LOOPS_H_
#define FEEDMILL_CORE_OPS_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/base/vector_target.h"
#include "feedmill/element.h"

// The innermost loops of the element-wise functions. They read and write dense
// typed memory, and are written so that the compiler vectorises them.

namespace feedmill {

// The inputs of a loop. If `last_is_scalar`, the last one is a single item for
// all n. Other inputs have n items. Items of kBytes are std::string_view.
struct LoopInputs {
  const void* items[3] = {nullptr, nullptr, nullptr};
  bool last_is_scalar = false;
};

// Computes n items. Returns n, or the index of the first item without a result;
// then the output is invalid.
using Loop = size_t (*)(const LoopInputs& in, void* out, size_t n);

// Items of 16-bit floats are computed as float, and results rounded. This is
// the type of the stored result of an operation on items of type T.
template <class Result, class T>
using Stored =
    std::conditional_t<kIsFloat16<T> && std::is_same_v<Result, float>, T,
                       Result>;

// The type of an item in loops; a bool is a uint8_t of 0 or 1.
template <class Op, class T>
[[gnu::always_inline]] inline size_t UnaryLoop(const LoopInputs& in, void* out,
                                               size_t n) {
  using C = ComputeType<T>;
  using R = Stored<decltype(Op::Apply(C{})), T>;
  const T* __restrict a = static_cast<const T*>(in.items[0]);
  R* __restrict r = static_cast<R*>(out);
  if (in.last_is_scalar) {
    const R value = Op::Apply(C{*a});
    for (size_t i = 0; i < n; ++i) r[i] = value;
    return n;
  }
  for (size_t i = 0; i < n; ++i) r[i] = Op::Apply(C{a[i]});
  return n;
}

// Loop of an operation on floats only; null for other types.
template <class Op>
Loop FloatUnary(DType calc) {
  if (calc == DType::kFloat32) return UnaryLoop<Op, float>;
  if (calc == DType::kFloat64) return UnaryLoop<Op, double>;
  if (calc == DType::kFloat16) return UnaryLoop<Op, Float16>;
  if (calc == DType::kBFloat16) return UnaryLoop<Op, BFloat16>;
  return nullptr;
}

template <class Op, class A, class B = A>
[[gnu::always_inline]] inline size_t BinaryLoop(const LoopInputs& in, void* out,
                                                size_t n) {
  using C = ComputeType<A>;
  using D = ComputeType<B>;
  using R = Stored<decltype(Op::Apply(C{}, D{})), A>;
  const A* __restrict a = static_cast<const A*>(in.items[0]);
  const B* __restrict b = static_cast<const B*>(in.items[1]);
  R* __restrict r = static_cast<R*>(out);
  if (in.last_is_scalar) {
    const D scalar{*b};
    for (size_t i = 0; i < n; ++i) r[i] = Op::Apply(C{a[i]}, scalar);
    return n;
  }
  for (size_t i = 0; i < n; ++i) r[i] = Op::Apply(C{a[i]}, D{b[i]});
  return n;
}

// Loop of an operation without a result for some operands: Op::IsBad(b). An
// operation may have a faster form for a scalar operand: Op::By<T>::Serves(b)
// tells whether it applies.
template <class Op, class T>
[[gnu::always_inline]] inline size_t CheckedBinaryLoop(const LoopInputs& in,
                                                       void* out, size_t n) {
  const T* __restrict b = static_cast<const T*>(in.items[1]);
  size_t good = n;
  if (in.last_is_scalar) {
    if (n > 0 && Op::IsBad(*b)) return 0;
    if constexpr (requires { typename Op::template By<T>; }) {
      using By = typename Op::template By<T>;
      if (By::Serves(*b)) {
        const By by(*b);
        const T* __restrict a = static_cast<const T*>(in.items[0]);
        T* __restrict r = static_cast<T*>(out);
        for (size_t i = 0; i < n; ++i) r[i] = by.Apply(a[i]);
        return n;
      }
    }
  } else {
    unsigned bad = 0;
    for (size_t i = 0; i < n; ++i) bad |= Op::IsBad(b[i]) ? 1U : 0U;
    if (bad != 0) {
      good = 0;
      while (!Op::IsBad(b[good])) ++good;
      return good;
    }
  }
  return BinaryLoop<Op, T>(in, out, good);
}

#if defined(__x86_64__)
template <Loop kLoop>
[[gnu::target("arch=x86-64-v3")]] size_t RunAvx2(const LoopInputs& in,
                                                 void* out, size_t n) {
  return kLoop(in, out, n);
}
template <Loop kLoop>
[[gnu::target("arch=x86-64-v4")]] size_t RunAvx512(const LoopInputs& in,
                                                   void* out, size_t n) {
  return kLoop(in, out, n);
}
#endif

// Returns the loop, compiled for LoopTarget(). REQUIRES: kLoop is one of the
// templates above, so that it is compiled again for each target.
template <Loop kLoop>
Loop ForTarget() {
#if defined(__x86_64__)
  switch (LoopTarget()) {
    case VectorTarget::kAvx512:
      return RunAvx512<kLoop>;
    case VectorTarget::kAvx2:
      return RunAvx2<kLoop>;
    case VectorTarget::kBaseline:
      break;
  }
#endif
  return kLoop;
}

// Each function returns the loop of a function for operands of dtype `calc`, or
// null if NumPy has none. The result has dtype `calc`, except for comparisons,
// logic and dtypes in comments.
Loop AddLoop(DType calc);
Loop SubtractLoop(DType calc);
Loop MultiplyLoop(DType calc);
Loop DivideLoop(DType calc);       // floats
Loop FloorDivideLoop(DType calc);  // bad: integer division by zero
Loop RemainderLoop(DType calc);    // bad: integer division by zero
Loop PowerLoop(DType calc);        // bad: negative exponent of an integer
Loop NegativeLoop(DType calc);
Loop PositiveLoop(DType calc);
Loop AbsLoop(DType calc);
Loop SquareLoop(DType calc);
Loop SignLoop(DType calc);
Loop BitwiseAndLoop(DType calc);
Loop BitwiseOrLoop(DType calc);
Loop BitwiseXorLoop(DType calc);
Loop InvertLoop(DType calc);
Loop LeftShiftLoop(DType calc);   // bad: negative amount
Loop RightShiftLoop(DType calc);  // bad: negative amount

Loop SqrtLoop(DType calc);
Loop ExpLoop(DType calc);
Loop LogLoop(DType calc);
Loop FloorLoop(DType calc);
Loop CeilLoop(DType calc);
Loop RoundLoop(DType calc);
Loop SinLoop(DType calc);
Loop CosLoop(DType calc);
Loop TanhLoop(DType calc);
Loop Log1pLoop(DType calc);
Loop Expm1Loop(DType calc);
Loop IsNanLoop(DType calc);     // bool
Loop IsFiniteLoop(DType calc);  // bool

// Returns the loop of a comparison, which yields bool. Both operands have the
// same dtype, which may be kBytes, or they are int64 and uint64 in either order
// and compare exactly.
enum class Comparison {
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual
};
Loop ComparisonLoop(Comparison comparison, DType a, DType b);

Loop LogicalAndLoop(DType calc);  // of bools, also the next two
Loop LogicalOrLoop(DType calc);
Loop LogicalNotLoop(DType calc);

Loop MinimumLoop(DType calc);
Loop MaximumLoop(DType calc);
Loop ClipLoop(DType calc);      // (a, low, high)
Loop SelectLoop(DType result);  // (bool, a, b); kBytes too

Loop LengthLoop(DType calc);  // kBytes → int64
Loop CopyLoop(DType calc);    // kBytes too

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_LOOPS_H_
