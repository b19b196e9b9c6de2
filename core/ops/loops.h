#ifndef FEEDMILL_CORE_OPS_LOOPS_H_
#define FEEDMILL_CORE_OPS_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/base/vector_target.h"
#include "feedmill/element_spec.h"

// The innermost loops of the element-wise functions: dense typed memory in,
// dense typed memory out, written so that the compiler vectorises them.

namespace feedmill {

// The inputs of a loop. The last one is a single item for all n, if
// `last_is_scalar`; all others hold n items. Items of kBytes are
// std::string_view.
struct LoopInputs {
  const void* items[3] = {nullptr, nullptr, nullptr};
  bool last_is_scalar = false;
};

// Computes n items. Returns n, or the index of the first item that has no
// result (what was written then does not count).
using Loop = size_t (*)(const LoopInputs& in, void* out, size_t n);

// The type of an item in loops; bool is uint8_t holding 0 or 1.
template <class Op, class T>
[[gnu::always_inline]] inline size_t UnaryLoop(const LoopInputs& in, void* out,
                                               size_t n) {
  using R = decltype(Op::Apply(T{}));
  const T* __restrict a = static_cast<const T*>(in.items[0]);
  R* __restrict r = static_cast<R*>(out);
  if (in.last_is_scalar) {
    const R value = Op::Apply(*a);
    for (size_t i = 0; i < n; ++i) r[i] = value;
    return n;
  }
  for (size_t i = 0; i < n; ++i) r[i] = Op::Apply(a[i]);
  return n;
}

// For operations of floats only; null for other types.
template <class Op>
Loop FloatUnary(DType calc) {
  if (calc == DType::kFloat32) return UnaryLoop<Op, float>;
  if (calc == DType::kFloat64) return UnaryLoop<Op, double>;
  return nullptr;
}

template <class Op, class A, class B = A>
[[gnu::always_inline]] inline size_t BinaryLoop(const LoopInputs& in, void* out,
                                                size_t n) {
  using R = decltype(Op::Apply(A{}, B{}));
  const A* __restrict a = static_cast<const A*>(in.items[0]);
  const B* __restrict b = static_cast<const B*>(in.items[1]);
  R* __restrict r = static_cast<R*>(out);
  if (in.last_is_scalar) {
    const B scalar = *b;
    for (size_t i = 0; i < n; ++i) r[i] = Op::Apply(a[i], scalar);
    return n;
  }
  for (size_t i = 0; i < n; ++i) r[i] = Op::Apply(a[i], b[i]);
  return n;
}

// For operations that some operands have no result for: Op::IsBad(b). One by a
// scalar may prepare it: Op::By<T> tells whether it can, and then applies it.
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

// The loop, compiled for what LoopTarget() has. REQUIRES: kLoop is one of the
// templates above, so that it is compiled anew for each.
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

// Each gives the loop of a function for operands of dtype `calc`, or null
// where NumPy has none. Comparisons, logic and isolated dtypes aside, the
// result has dtype `calc`.
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

// Comparisons give bool. The dtypes of the operands are the same, or int64 and
// uint64 in either order, which compare exactly; kBytes too.
enum class Comparison {
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual
};
Loop ComparisonLoop(Comparison comparison, DType a, DType b);

Loop LogicalAndLoop(DType calc);  // of bools, as the other two
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
