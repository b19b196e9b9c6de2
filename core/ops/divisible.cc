#include "core/ops/divisible.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/base/check.h"
#include "core/ops/elementwise.h"
#include "core/ops/loops.h"

namespace feedmill {
namespace {

template <class T>
constexpr std::make_unsigned_t<T> Magnitude(T x) {
  using U = std::make_unsigned_t<T>;
  const U sign = x < 0 ? ~U{0} : U{0};
  return (static_cast<U>(x) ^ sign) - sign;
}

// Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication", 1994, section 9: n is a multiple of d = odd * 2^twos if
// n times the inverse of `odd`, turned right by `twos`, is at most max / d.
template <class U>
struct Divisor {
  // Not inlined: a compiler that sees `limit` made takes the comparison with it
  // for a test of overflow, which does not vectorise.
  [[gnu::noinline]] explicit Divisor(U d)
      : twos(std::countr_zero(d)), limit(std::numeric_limits<U>::max() / d) {
    const U odd = d >> twos;
    for (int k = 0; k < 6; ++k) inverse *= U{2} - odd * inverse;
  }

  int twos;
  U limit;
  U inverse = 1;  // right in its last bit; each step doubles them
};

template <bool kDivisible, class T>
[[gnu::always_inline]] inline size_t DivisibleLoop(const LoopInputs& in,
                                                   void* out, size_t n) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = std::numeric_limits<U>::digits;
  const T* __restrict x = static_cast<const T*>(in.items[0]);
  uint8_t* __restrict r = static_cast<uint8_t*>(out);
  const Divisor<U> divisor(Magnitude(*static_cast<const T*>(in.items[1])));
  const U inverse = divisor.inverse;
  const U limit = divisor.limit;
  const int right = divisor.twos;
  const int left = (kBits - right) % kBits;
  for (size_t i = 0; i < n; ++i) {
    const U product = Magnitude(x[i]) * inverse;
    const U turned = (product >> right) | (product << left);
    r[i] = (turned <= limit) == kDivisible ? 1 : 0;
  }
  return n;
}

template <bool kDivisible>
Loop LoopOf(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return ForTarget<DivisibleLoop<kDivisible, int32_t>>();
    case DType::kInt64:
      return ForTarget<DivisibleLoop<kDivisible, int64_t>>();
    case DType::kUInt32:
      return ForTarget<DivisibleLoop<kDivisible, uint32_t>>();
    case DType::kUInt64:
      return ForTarget<DivisibleLoop<kDivisible, uint64_t>>();
    default:
      return nullptr;
  }
}

FunctionRegistry::Function MakeFunction(Loop (*loop_of)(DType)) {
  FunctionRegistry::Function function;
  function.compute = [loop_of](std::span<const Argument> arguments, size_t rows,
                               const ValueType& type, OutputColumn& out) {
    FM_CHECK(arguments.size() == 2 && arguments[1].constant);
    ElementwiseCall call;
    const DType dtype = arguments[0].type->dtype;
    call.operands = {dtype, dtype, dtype};
    call.result = DType::kBool;
    call.loop = loop_of(dtype);
    return RunElementwise(call, arguments, rows, type, out);
  };
  return function;
}

}  // namespace

bool IsTestedForDivisors(DType dtype) { return LoopOf<true>(dtype) != nullptr; }

const FunctionRegistry::Function& DivisibleFunction(bool divisible) {
  static const FunctionRegistry::Function is = MakeFunction(LoopOf<true>);
  static const FunctionRegistry::Function is_not = MakeFunction(LoopOf<false>);
  return divisible ? is : is_not;
}

}  // namespace feedmill
