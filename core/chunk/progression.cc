#include "core/chunk/progression.h"

#include "core/base/vector_target.h"

// Worth: a column that is not stored saves 12 % of the CPU of a range whose
// numbers are mapped and filtered (10^9 numbers: 1.16 s instead of 1.31 s), and
// 10 % where they are mapped and batched.

namespace feedmill {
namespace {

// Writes two vectors at a time, with explicit variables. gcc 12 miscompiles the
// same loop over an array (its vectoriser stores the first half twice).
template <class Vector>
[[gnu::always_inline]] inline void FillBy(Progression numbers, uint64_t* items,
                                          size_t count) {
  constexpr size_t kItems = sizeof(Vector) / sizeof(uint64_t);
  Vector low;
  for (size_t k = 0; k < kItems; ++k) low[k] = numbers.From(k).first;
  Vector high = low + kItems * numbers.step;
  size_t at = 0;
  for (; at + 2 * kItems <= count; at += 2 * kItems) {
    __builtin_memcpy(items + at, &low, sizeof low);
    __builtin_memcpy(items + at + kItems, &high, sizeof high);
    low += 2 * kItems * numbers.step;
    high += 2 * kItems * numbers.step;
  }
  for (; at < count; ++at) items[at] = numbers.From(at).first;
}

using Four [[gnu::vector_size(32)]] = uint64_t;

#if defined(__x86_64__)
using Eight [[gnu::vector_size(64)]] = uint64_t;

[[gnu::target("arch=x86-64-v3")]] void FillAvx2(Progression numbers,
                                                uint64_t* items, size_t count) {
  FillBy<Four>(numbers, items, count);
}

[[gnu::target("arch=x86-64-v4")]] void FillAvx512(Progression numbers,
                                                  uint64_t* items,
                                                  size_t count) {
  FillBy<Eight>(numbers, items, count);
}
#endif

}  // namespace

void Progression::Fill(uint64_t* items, size_t count) const {
#if defined(__x86_64__)
  switch (LoopTarget()) {
    case VectorTarget::kAvx512:
      return FillAvx512(*this, items, count);
    case VectorTarget::kAvx2:
      return FillAvx2(*this, items, count);
    case VectorTarget::kBaseline:
      break;
  }
#endif
  FillBy<Four>(*this, items, count);
}

}  // namespace feedmill
