#include "core/chunk/encoding.h"

#include "core/base/vector_target.h"

// Worth: a column that is not stored saves 12 % of the CPU of a range whose
// numbers are mapped and filtered (10^9 numbers: 1.16 s instead of 1.31 s), and
// 10 % where they are mapped and batched.

namespace feedmill {
namespace {

// Writes two vectors at a time, with explicit variables. gcc 12 miscompiles the
// same loop over an array (its vectoriser stores the first half twice).
template <class Vector>
[[gnu::always_inline]] inline void FillBy(uint64_t first, uint64_t step,
                                          uint64_t* items, size_t count) {
  constexpr size_t kItems = sizeof(Vector) / sizeof(uint64_t);
  Vector low;
  for (size_t k = 0; k < kItems; ++k) low[k] = first + k * step;
  Vector high = low + kItems * step;
  size_t at = 0;
  for (; at + 2 * kItems <= count; at += 2 * kItems) {
    __builtin_memcpy(items + at, &low, sizeof low);
    __builtin_memcpy(items + at + kItems, &high, sizeof high);
    low += 2 * kItems * step;
    high += 2 * kItems * step;
  }
  for (; at < count; ++at) items[at] = first + at * step;
}

using Four [[gnu::vector_size(32)]] = uint64_t;

#if defined(__x86_64__)
using Eight [[gnu::vector_size(64)]] = uint64_t;

[[gnu::target("arch=x86-64-v3")]] void FillAvx2(uint64_t first, uint64_t step,
                                                uint64_t* items, size_t count) {
  FillBy<Four>(first, step, items, count);
}

[[gnu::target("arch=x86-64-v4")]] void FillAvx512(uint64_t first, uint64_t step,
                                                  uint64_t* items,
                                                  size_t count) {
  FillBy<Eight>(first, step, items, count);
}
#endif

}  // namespace

void Encoding::Fill(uint64_t* items, size_t count) const {
#if defined(__x86_64__)
  switch (LoopTarget()) {
    case VectorTarget::kAvx512:
      return FillAvx512(first, step, items, count);
    case VectorTarget::kAvx2:
      return FillAvx2(first, step, items, count);
    case VectorTarget::kBaseline:
      break;
  }
#endif
  FillBy<Four>(first, step, items, count);
}

EncodedView EncodedView::Slice(size_t begin, size_t end, Column& slice) const {
  EncodedView rows = *this;
  if (encoding.kind == Encoding::kSequence) {
    rows.encoding.first += begin * encoding.step;
    return rows;
  }
  slice = column->Slice(begin, end);
  rows.column = &slice;
  return rows;
}

}  // namespace feedmill
