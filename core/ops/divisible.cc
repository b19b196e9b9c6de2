#include "core/ops/divisible.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/ops/elementwise.h"
#include "core/ops/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace feedmill {
namespace {

template <class T>
constexpr std::make_unsigned_t<T> Magnitude(T x) {
  using U = std::make_unsigned_t<T>;
  const U sign = x < 0 ? ~U{0} : U{0};
  return (static_cast<U>(x) ^ sign) - sign;
}

// Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication", 1994, section 9: n is a multiple of d = odd * 2^twos if n
// times the inverse of `odd`, rotated right by `twos`, is at most max / d.
template <class U>
struct Divisor {
  // Not inlined: a compiler that sees the computation of `limit` turns the
  // comparison with it into a test of overflow, which does not vectorise.
  [[gnu::noinline]] explicit Divisor(U d)
      : of(d),
        twos(std::countr_zero(d)),
        limit(std::numeric_limits<U>::max() / d) {
    const U odd = d >> twos;
    for (int k = 0; k < 6; ++k) inverse *= U{2} - odd * inverse;
  }

  U of;
  int twos;
  U limit;
  U inverse = 1;  // right in its last bit; each step doubles the right bits
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

#if defined(__x86_64__)

template <class T>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline __m512i Repeated(
    T x) {
  if constexpr (sizeof(T) == 8) {
    return _mm512_set1_epi64(static_cast<int64_t>(x));
  } else {
    return _mm512_set1_epi32(static_cast<int32_t>(x));
  }
}

// For an odd divisor d, n is a multiple if n times the inverse is a possible
// quotient: at most max / d and, for signed items, at least -(max / d). Adding
// `shift` makes the lower bound 0.
template <class T>
struct Quotients {
  using U = std::make_unsigned_t<T>;
  explicit Quotients(const Divisor<U>& divisor) : limit(divisor.limit) {
    // With divisor 1, the smallest item has a quotient, too.
    if (!std::is_signed_v<T> || divisor.twos > 0 || divisor.of == 1) return;
    shift = static_cast<U>(std::numeric_limits<T>::max()) / divisor.of;
    limit = static_cast<U>(2 * shift);
  }

  U shift = 0;  // for odd divisors
  U limit;
};

template <class T>
struct VectorDivisor {
  using U = std::make_unsigned_t<T>;
  [[gnu::target("arch=x86-64-v4"),
    gnu::always_inline]] inline explicit VectorDivisor(const Divisor<U>&
                                                           divisor)
      : inverse(Repeated(divisor.inverse)),
        limit(Repeated(Quotients<T>(divisor).limit)),
        twos(Repeated(static_cast<U>(divisor.twos))),
        shift(Repeated(Quotients<T>(divisor).shift)) {}

  __m512i inverse;
  __m512i limit;
  __m512i twos;
  __m512i shift;
};

// Returns a bit for each item of one vector: 1 if the divisor divides it.
template <bool kOdd, class T>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline uint64_t
DivisibleMask(const T* x, const VectorDivisor<T>& by) {
  const __m512i items = _mm512_loadu_si512(x);
  // Masked functions, because gcc 12's functions without masks cause warnings.
  if constexpr (sizeof(T) == 8) {
    constexpr __mmask8 kAll = 0xff;
    if constexpr (kOdd) {
      const __m512i product = _mm512_mullo_epi64(items, by.inverse);
      return _mm512_cmple_epu64_mask(_mm512_add_epi64(product, by.shift),
                                     by.limit);
    }
    const __m512i size =
        std::is_signed_v<T> ? _mm512_maskz_abs_epi64(kAll, items) : items;
    const __m512i product = _mm512_mullo_epi64(size, by.inverse);
    return _mm512_cmple_epu64_mask(
        _mm512_maskz_rorv_epi64(kAll, product, by.twos), by.limit);
  } else {
    constexpr __mmask16 kAll = 0xffff;
    if constexpr (kOdd) {
      const __m512i product = _mm512_mullo_epi32(items, by.inverse);
      return _mm512_cmple_epu32_mask(_mm512_add_epi32(product, by.shift),
                                     by.limit);
    }
    const __m512i size =
        std::is_signed_v<T> ? _mm512_maskz_abs_epi32(kAll, items) : items;
    const __m512i product = _mm512_mullo_epi32(size, by.inverse);
    return _mm512_cmple_epu32_mask(
        _mm512_maskz_rorv_epi32(kAll, product, by.twos), by.limit);
  }
}

// Same for 64 items at a time, because compilers do not pack 64-bit comparisons
// into bytes well. Returns the number of items done.
template <bool kDivisible, bool kOdd, class T>
[[gnu::target("arch=x86-64-v4")]] size_t DivisibleWordsAvx512(
    const Divisor<std::make_unsigned_t<T>>& divisor, const T* x, uint8_t* r,
    size_t n) {
  constexpr size_t kTogether = 64 / sizeof(T);
  const VectorDivisor<T> by(divisor);
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    uint64_t is = 0;
    for (size_t k = 0; k < 64; k += kTogether) {
      is |= DivisibleMask<kOdd>(x + i + k, by) << k;
    }
    const __m512i bytes = _mm512_maskz_set1_epi8(kDivisible ? is : ~is, 1);
    _mm512_storeu_si512(r + i, bytes);
  }
  return i;
}

// The same for AVX2, which has no unsigned comparison: `shift` and `limit` have
// their highest bits flipped.
template <class T>
struct Avx2Divisor {
  using U = std::make_unsigned_t<T>;
  static constexpr int kBits = std::numeric_limits<U>::digits;
  static constexpr U kHighest = U{1} << (kBits - 1);

  [[gnu::target("arch=x86-64-v3"),
    gnu::always_inline]] inline explicit Avx2Divisor(const Divisor<U>& divisor)
      : inverse(Spread(divisor.inverse)),
        limit(Spread(Quotients<T>(divisor).limit + kHighest)),
        shift(Spread(Quotients<T>(divisor).shift + kHighest)),
        right(_mm_cvtsi32_si128(divisor.twos)),
        left(_mm_cvtsi32_si128(kBits - divisor.twos)) {}

  [[gnu::target("arch=x86-64-v3"), gnu::always_inline]] static inline __m256i
  Spread(U x) {
    if constexpr (sizeof(U) == 8) {
      return _mm256_set1_epi64x(static_cast<int64_t>(x));
    } else {
      return _mm256_set1_epi32(static_cast<int32_t>(x));
    }
  }

  __m256i inverse;
  __m256i limit;
  __m256i shift;
  __m128i right;
  __m128i left;
};

// Returns the low halves of products; 64-bit ones from three 32-bit products.
template <class T>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline __m256i Product(
    __m256i a, __m256i b) {
  if constexpr (sizeof(T) == 4) {
    return _mm256_mullo_epi32(a, b);
  } else {
    const __m256i across =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
                         _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b),
                            _mm256_slli_epi64(across, 32));
  }
}

// Returns a bit for each item of one vector: 1 if the divisor does not divide
// it.
template <bool kOdd, class T>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline uint64_t
OtherMaskAvx2(const T* x, const Avx2Divisor<T>& by) {
  __m256i items = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  if constexpr (sizeof(T) == 8) {
    if constexpr (!kOdd && std::is_signed_v<T>) {
      const __m256i sign = _mm256_cmpgt_epi64(_mm256_setzero_si256(), items);
      items = _mm256_sub_epi64(_mm256_xor_si256(items, sign), sign);
    }
    __m256i product = Product<T>(items, by.inverse);
    if constexpr (!kOdd) {
      product = _mm256_or_si256(_mm256_srl_epi64(product, by.right),
                                _mm256_sll_epi64(product, by.left));
    }
    product = _mm256_add_epi64(product, by.shift);
    return static_cast<uint64_t>(_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_cmpgt_epi64(product, by.limit))));
  } else {
    if constexpr (!kOdd && std::is_signed_v<T>) items = _mm256_abs_epi32(items);
    __m256i product = Product<T>(items, by.inverse);
    if constexpr (!kOdd) {
      product = _mm256_or_si256(_mm256_srl_epi32(product, by.right),
                                _mm256_sll_epi32(product, by.left));
    }
    product = _mm256_add_epi32(product, by.shift);
    return static_cast<uint64_t>(_mm256_movemask_ps(
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(product, by.limit))));
  }
}

// Expands each bit to a byte.
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline __m256i BytesOf(
    uint32_t bits) {
  const __m256i byte_of_bit = _mm256_setr_epi64x(
      0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bit_of_byte =
      _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i spread = _mm256_and_si256(
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int32_t>(bits)),
                          byte_of_bit),
      bit_of_byte);
  return _mm256_and_si256(_mm256_cmpeq_epi8(spread, bit_of_byte),
                          _mm256_set1_epi8(1));
}

template <bool kDivisible, bool kOdd, class T>
[[gnu::target("arch=x86-64-v3")]] size_t DivisibleWordsAvx2(
    const Divisor<std::make_unsigned_t<T>>& divisor, const T* x, uint8_t* r,
    size_t n) {
  constexpr size_t kTogether = 32 / sizeof(T);
  const Avx2Divisor<T> by(divisor);
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    uint64_t others = 0;
    for (size_t k = 0; k < 32; k += kTogether) {
      others |= OtherMaskAvx2<kOdd>(x + i + k, by) << k;
    }
    const auto bits = static_cast<uint32_t>(kDivisible ? ~others : others);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(r + i), BytesOf(bits));
  }
  return i;
}

template <bool kDivisible, class T, VectorTarget kTarget>
size_t DivisibleByWords(const LoopInputs& in, void* out, size_t n) {
  using U = std::make_unsigned_t<T>;
  const T* const x = static_cast<const T*>(in.items[0]);
  uint8_t* const r = static_cast<uint8_t*>(out);
  // A division is slow compared with a tile, and the next tile has the same
  // divisor, so it is kept.
  thread_local Divisor<U> divisor(1);
  const U d = Magnitude(*static_cast<const T*>(in.items[1]));
  if (divisor.of != d) divisor = Divisor<U>(d);
  const bool odd = divisor.twos == 0;
  size_t i = 0;
  if constexpr (kTarget == VectorTarget::kAvx512) {
    i = odd ? DivisibleWordsAvx512<kDivisible, true>(divisor, x, r, n)
            : DivisibleWordsAvx512<kDivisible, false>(divisor, x, r, n);
  } else {
    i = odd ? DivisibleWordsAvx2<kDivisible, true>(divisor, x, r, n)
            : DivisibleWordsAvx2<kDivisible, false>(divisor, x, r, n);
  }
  if (i < n) {
    LoopInputs rest = in;
    rest.items[0] = x + i;
    DivisibleLoop<kDivisible, T>(rest, r + i, n - i);
  }
  return n;
}

#endif

template <bool kDivisible, class T>
Loop LoopOfType() {
#if defined(__x86_64__)
  switch (LoopTarget()) {
    case VectorTarget::kAvx512:
      return DivisibleByWords<kDivisible, T, VectorTarget::kAvx512>;
    case VectorTarget::kAvx2:
      return DivisibleByWords<kDivisible, T, VectorTarget::kAvx2>;
    case VectorTarget::kBaseline:
      break;
  }
#endif
  return DivisibleLoop<kDivisible, T>;
}

template <bool kDivisible>
Loop LoopOf(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return LoopOfType<kDivisible, int32_t>();
    case DType::kInt64:
      return LoopOfType<kDivisible, int64_t>();
    case DType::kUInt32:
      return LoopOfType<kDivisible, uint32_t>();
    case DType::kUInt64:
      return LoopOfType<kDivisible, uint64_t>();
    default:
      return nullptr;
  }
}

FunctionRegistry::Function MakeFunction(Loop (*loop_of)(DType)) {
  FunctionRegistry::Function function;
  function.compute =
      ElementwiseCompute(2, 2,
                         [loop_of](std::span<const ValueType* const> types)
                             -> absl::StatusOr<ElementwiseCall> {
                           ElementwiseCall call;
                           const DType dtype = types[0]->dtype;
                           call.operands = {dtype, dtype, dtype};
                           call.result = DType::kBool;
                           call.loop = loop_of(dtype);
                           return call;
                         });
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
