#include "core/ops/convert_items.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace feedmill {
namespace {

// Same as cvttsd2si: a value that does not fit becomes the most negative
// number.
inline int32_t TruncateTo32(double v) {
  const bool fits = v > -2147483649.0 && v < 2147483648.0;
  return fits ? static_cast<int32_t>(v) : std::numeric_limits<int32_t>::min();
}

inline int64_t TruncateTo64(double v) {
  const bool fits = v >= -0x1p63 && v < 0x1p63;
  return fits ? static_cast<int64_t>(v) : std::numeric_limits<int64_t>::min();
}

template <class To>
To FloatToInteger(double v) {
  if constexpr (std::is_same_v<To, int64_t>) {
    return TruncateTo64(v);
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr uint64_t kTop = uint64_t{1} << 63;
    return v >= 0x1p63 ? static_cast<uint64_t>(TruncateTo64(v - 0x1p63)) ^ kTop
                       : static_cast<uint64_t>(TruncateTo64(v));
  } else if constexpr (std::is_same_v<To, uint32_t>) {
    return static_cast<uint32_t>(TruncateTo64(v));
  } else {
    return static_cast<To>(TruncateTo32(v));
  }
}

template <class From, class To>
void Convert(const From* __restrict source, To* __restrict target,
             size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if constexpr (kIsFloat<From> && std::is_integral_v<To>) {
      target[i] = FloatToInteger<To>(double{source[i]});
    } else {
      target[i] = static_cast<To>(ComputeType<From>{source[i]});
    }
  }
}

template <class From>
void ConvertToBool(const From* __restrict source, uint8_t* __restrict target,
                   size_t count) {
  for (size_t i = 0; i < count; ++i) {
    target[i] = source[i] != From{0} ? uint8_t{1} : uint8_t{0};
  }
}

}  // namespace

void ConvertItems(DType from, const void* source, DType to, void* target,
                  size_t count) {
  if (count == 0) return;
  if (from == to) {
    std::memcpy(target, source, count * ItemSize(from));
    return;
  }
  VisitNumeric(from, [&](auto from_zero) {
    using From = decltype(from_zero);
    if (to == DType::kBool) {
      ConvertToBool(static_cast<const From*>(source),
                    static_cast<uint8_t*>(target), count);
      return;
    }
    VisitNumeric(to, [&](auto to_zero) {
      using To = decltype(to_zero);
      Convert(static_cast<const From*>(source), static_cast<To*>(target),
              count);
    });
  });
}

}  // namespace feedmill
