#include "plugins/arrow/column_items.h"

#include <arrow/array/array_decimal.h>
#include <arrow/extension_type.h>
#include <arrow/type_traits.h>
#include <arrow/util/decimal.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/numeric/int128.h"
#include "core/base/status.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/column_types.h"

namespace feedmill {
namespace {

using arrow::Type;

// Maximum number of nulls in a column of type null. Such nulls take no bytes in
// the file, so a damaged count could exhaust the memory.
constexpr int64_t kNullsMax = int64_t{1} << 28;

bool IsNull(const NullMask& nulls, size_t k) {
  return !nulls.empty() && nulls[k] != 0;
}

void SetFault(ColumnItems& items, size_t k, RowFault fault) {
  if (items.faults.empty()) items.faults.resize(items.count);
  items.faults[k] = fault;
}

// Returns the values of a primitive array without copying.
template <class T>
Buffer SharedValues(const arrow::Array& array) {
  const auto& buffer = array.data()->buffers[1];
  const auto* const data =
      reinterpret_cast<const std::byte*>(array.data()->GetValues<T>(1));
  return Buffer(buffer, data, static_cast<size_t>(array.length()) * sizeof(T));
}

// Converts a number; false if `To` cannot hold it. Floats round to nearest.
template <class From, class To>
bool ConvertNumber(From from, To& to) {
  if constexpr (kIsFloat<To>) {
    to = static_cast<To>(ComputeType<From>{from});
    return true;
  } else if constexpr (kIsFloat<From>) {
    constexpr auto kTop = static_cast<double>(std::numeric_limits<To>::max());
    constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
    const auto wide = static_cast<double>(from);
    // The largest 64-bit integers round up as doubles: to one beyond the range.
    const bool below = kTop >= 0x1p63 ? wide < kTop : wide <= kTop;
    if (!(below && wide >= kLow && wide == std::trunc(wide))) return false;
    to = static_cast<To>(wide);
    return true;
  } else {
    if (!std::in_range<To>(from)) return false;
    to = static_cast<To>(from);
    return true;
  }
}

// Converts `count` items; `read` returns each.
template <class To, class Read>
ColumnItems ConvertNumbers(size_t count, const NullMask& nulls, Read read) {
  ColumnItems items{.count = count, .values = {}, .offsets = {}};
  std::vector<To> values(count);
  for (size_t k = 0; k < count; ++k) {
    if (IsNull(nulls, k)) {
      if constexpr (kIsFloat<To>) {
        values[k] = std::numeric_limits<ComputeType<To>>::quiet_NaN();
      } else {
        SetFault(items, k, RowFault::kNull);
      }
    } else if (!ConvertNumber(read(k), values[k])) {
      SetFault(items, k, RowFault::kInexact);
    }
  }
  items.values = BufferOf(std::move(values));
  return items;
}

template <class From>
ColumnItems NumbersOf(const arrow::Array& array, const NullMask& nulls,
                      DType dtype) {
  const auto count = static_cast<size_t>(array.length());
  const From* const from = array.data()->GetValues<From>(1);
  if (DTypeOf<From>() == dtype && nulls.empty()) {
    return {.count = count, .values = SharedValues<From>(array), .offsets = {}};
  }
  return VisitNumeric(dtype, [&]<class To>(To) {
    return ConvertNumbers<To>(count, nulls,
                              [from](size_t k) { return from[k]; });
  });
}

ColumnItems BoolsOf(const arrow::BooleanArray& array, const NullMask& nulls) {
  ColumnItems items{.count = static_cast<size_t>(array.length()),
                    .values = {},
                    .offsets = {}};
  std::vector<uint8_t> values(items.count);
  for (size_t k = 0; k < items.count; ++k) {
    values[k] = array.Value(static_cast<int64_t>(k)) ? 1 : 0;
    if (IsNull(nulls, k)) SetFault(items, k, RowFault::kNull);
  }
  items.values = BufferOf(std::move(values));
  return items;
}

absl::Status DamagedOffsets() { return DataLoss("its offsets are damaged"); }

// Returns byte strings at [offsets[k], offsets[k + 1]) of one buffer.
template <class Offset>
absl::StatusOr<ColumnItems> StringsOf(const arrow::Array& array,
                                      const NullMask& nulls) {
  ColumnItems items{.count = static_cast<size_t>(array.length()),
                    .values = {},
                    .offsets = {}};
  const auto& bytes = array.data()->buffers[2];
  const int64_t size = bytes == nullptr ? 0 : bytes->size();
  std::vector<int64_t> offsets(items.count + 1);
  if (items.count == 0) {
    items.offsets = BufferOf(std::move(offsets));
    return items;
  }
  const Offset* const from = array.data()->GetValues<Offset>(1);
  bool gaps = false;
  for (size_t k = 0; k <= items.count; ++k) {
    offsets[k] = from[k];
    if (offsets[k] < 0 || offsets[k] > size ||
        (k > 0 && offsets[k] < offsets[k - 1])) {
      return DamagedOffsets();
    }
    gaps =
        gaps || (k > 0 && IsNull(nulls, k - 1) && offsets[k] > offsets[k - 1]);
  }
  const auto* const data =
      bytes == nullptr ? nullptr
                       : reinterpret_cast<const std::byte*>(bytes->data());
  items.values = Buffer(bytes, data, static_cast<size_t>(size));
  if (!gaps) {
    items.offsets = BufferOf(std::move(offsets));
    return items;
  }
  std::vector<std::byte> kept;
  std::vector<int64_t> ends(1, 0);
  for (size_t k = 0; k < items.count; ++k) {
    if (!IsNull(nulls, k)) {
      kept.insert(kept.end(), data + offsets[k], data + offsets[k + 1]);
    }
    ends.push_back(static_cast<int64_t>(kept.size()));
  }
  items.values = BufferOf(std::move(kept));
  items.offsets = BufferOf(std::move(ends));
  return items;
}

std::string_view StringAt(const ColumnItems& items, size_t k) {
  const auto offsets = items.offsets.As<int64_t>();
  return {reinterpret_cast<const char*>(items.values.data()) + offsets[k],
          static_cast<size_t>(offsets[k + 1] - offsets[k])};
}

// Copies `count` byte strings; `read` returns each.
template <class Read>
ColumnItems CopyStrings(size_t count, const NullMask& nulls, Read read) {
  std::vector<char> bytes;
  std::vector<int64_t> offsets(1, 0);
  offsets.reserve(count + 1);
  for (size_t k = 0; k < count; ++k) {
    if (!IsNull(nulls, k)) {
      const std::string_view text = read(static_cast<int64_t>(k));
      bytes.insert(bytes.end(), text.begin(), text.end());
    }
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  return {.count = count,
          .values = BufferOf(std::move(bytes)),
          .offsets = BufferOf(std::move(offsets))};
}

// Returns `count` nulls.
ColumnItems NullsOf(size_t count, DType dtype) {
  const NullMask nulls(count, 1);
  if (dtype == DType::kBytes) {
    return CopyStrings(count, nulls,
                       [](int64_t) { return std::string_view(); });
  }
  return VisitNumeric(dtype, [&]<class To>(To) {
    return ConvertNumbers<To>(count, nulls, [](size_t) { return To{}; });
  });
}

// Returns the values of a dictionary in the order of `indexes`.
template <class Index>
ColumnItems DecodeIndexes(const arrow::Array& indexes, const NullMask& nulls,
                          const ColumnItems& values, DType dtype) {
  const auto count = static_cast<size_t>(indexes.length());
  const auto* const from = indexes.data()->GetValues<Index>(1);
  NullMask missing = nulls;
  missing.resize(count);
  std::vector<size_t> outside;
  for (size_t k = 0; k < count; ++k) {
    if (missing[k] == 0 && (std::cmp_less(from[k], 0) ||
                            std::cmp_greater_equal(from[k], values.count))) {
      missing[k] = 1;
      outside.push_back(k);
    }
  }
  const auto at = [from](size_t k) { return static_cast<size_t>(from[k]); };
  ColumnItems items =
      dtype == DType::kBytes
          ? CopyStrings(count, missing,
                        [&](int64_t k) {
                          return StringAt(values, at(static_cast<size_t>(k)));
                        })
          : VisitNumeric(dtype, [&]<class To>(To) {
              const auto* const known = values.values.As<To>().data();
              return ConvertNumbers<To>(count, missing,
                                        [&](size_t k) { return known[at(k)]; });
            });
  for (size_t k = 0; k < count && !values.faults.empty(); ++k) {
    if (missing[k] != 0 || values.faults[at(k)] == RowFault::kNone) continue;
    SetFault(items, k, values.faults[at(k)]);
  }
  for (const size_t k : outside) SetFault(items, k, RowFault::kIndex);
  return items;
}

absl::StatusOr<ColumnItems> DecodeDictionary(
    const arrow::DictionaryArray& array, const NullMask& nulls, DType dtype,
    const TimeType* time) {
  const auto dictionary = array.dictionary();
  FM_ASSIGN_OR_RETURN(const ColumnItems values,
                      ItemsOfArray(*dictionary, {}, dtype, time));
  const arrow::Array& indexes = *array.indices();
  switch (indexes.type_id()) {
    case Type::INT8:
      return DecodeIndexes<int8_t>(indexes, nulls, values, dtype);
    case Type::UINT8:
      return DecodeIndexes<uint8_t>(indexes, nulls, values, dtype);
    case Type::INT16:
      return DecodeIndexes<int16_t>(indexes, nulls, values, dtype);
    case Type::UINT16:
      return DecodeIndexes<uint16_t>(indexes, nulls, values, dtype);
    case Type::INT32:
      return DecodeIndexes<int32_t>(indexes, nulls, values, dtype);
    case Type::UINT32:
      return DecodeIndexes<uint32_t>(indexes, nulls, values, dtype);
    case Type::INT64:
      return DecodeIndexes<int64_t>(indexes, nulls, values, dtype);
    default:
      return DecodeIndexes<uint64_t>(indexes, nulls, values, dtype);
  }
}

absl::StatusOr<ColumnItems> BytesOfArray(const arrow::Array& array,
                                         const NullMask& nulls) {
  const auto count = static_cast<size_t>(array.length());
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:
      return StringsOf<int32_t>(array, nulls);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return StringsOf<int64_t>(array, nulls);
    case Type::FIXED_SIZE_BINARY: {
      const auto& fixed =
          static_cast<const arrow::FixedSizeBinaryArray&>(array);
      return CopyStrings(count, nulls,
                         [&](int64_t k) { return fixed.GetView(k); });
    }
    default: {
      FM_RETURN_IF_ARROW(array.ValidateFull());
      const auto& views = static_cast<const arrow::BinaryViewArray&>(array);
      return CopyStrings(count, nulls,
                         [&](int64_t k) { return views.GetView(k); });
    }
  }
}

absl::StatusOr<ColumnItems> NumbersOfArray(const arrow::Array& array,
                                           const NullMask& nulls, DType dtype) {
  switch (array.type_id()) {
    case Type::INT8:
      return NumbersOf<int8_t>(array, nulls, dtype);
    case Type::INT16:
      return NumbersOf<int16_t>(array, nulls, dtype);
    case Type::INT32:
    case Type::DATE32:
    case Type::TIME32:
      return NumbersOf<int32_t>(array, nulls, dtype);
    case Type::UINT8:
      return NumbersOf<uint8_t>(array, nulls, dtype);
    case Type::UINT16:
      return NumbersOf<uint16_t>(array, nulls, dtype);
    case Type::UINT32:
      return NumbersOf<uint32_t>(array, nulls, dtype);
    case Type::UINT64:
      return NumbersOf<uint64_t>(array, nulls, dtype);
    case Type::HALF_FLOAT:
      return NumbersOf<Float16>(array, nulls, dtype);
    case Type::FLOAT:
      return NumbersOf<float>(array, nulls, dtype);
    case Type::DOUBLE:
      return NumbersOf<double>(array, nulls, dtype);
    default:  // int64, dates, times and durations
      return NumbersOf<int64_t>(array, nulls, dtype);
  }
}

// Converts a time that is a number of nanoseconds; false if `To` does not hold
// it in this unit.
template <class To>
bool ConvertTime(absl::int128 nanos, int64_t unit, To& to) {
  const absl::int128 whole = nanos / unit;
  if constexpr (kIsFloat<To>) {
    // The nearest number of the unit, rounded once if it is whole.
    using Wide = std::conditional_t<kIsFloat16<To>, double, To>;
    to = nanos % unit == 0 ? static_cast<To>(static_cast<Wide>(whole))
                           : static_cast<To>(static_cast<double>(nanos) /
                                             static_cast<double>(unit));
    return true;
  } else {
    to = static_cast<To>(whole);
    return nanos % unit == 0 && absl::int128(to) == whole;
  }
}

// Converts `count` times; `read` returns each in nanoseconds.
template <class Read>
ColumnItems ConvertTimes(size_t count, const NullMask& nulls, DType dtype,
                         int64_t unit, Read read) {
  return VisitNumeric(dtype, [&]<class To>(To) {
    std::vector<size_t> lost;
    ColumnItems items = ConvertNumbers<To>(count, nulls, [&](size_t k) {
      To to{};
      if (!ConvertTime(read(k), unit, to)) lost.push_back(k);
      return to;
    });
    for (const size_t k : lost) SetFault(items, k, RowFault::kTime);
    return items;
  });
}

// Converts an array of times. A decimal counts nanoseconds (int96_times.h).
ColumnItems TimesOfArray(const arrow::Array& array, const NullMask& nulls,
                         DType dtype, int64_t unit) {
  const auto count = static_cast<size_t>(array.length());
  if (array.type_id() == Type::DECIMAL128) {
    const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
    return ConvertTimes(count, nulls, dtype, unit, [&](size_t k) {
      const arrow::Decimal128 nanos(decimals.GetValue(static_cast<int64_t>(k)));
      return absl::MakeInt128(nanos.high_bits(), nanos.low_bits());
    });
  }
  const absl::int128 nanos = TimeOfType(*array.type())->nanos;
  if (array.type_id() == Type::DATE32 || array.type_id() == Type::TIME32) {
    const auto* const from = array.data()->GetValues<int32_t>(1);
    return ConvertTimes(count, nulls, dtype, unit,
                        [=](size_t k) { return from[k] * nanos; });
  }
  const auto* const from = array.data()->GetValues<int64_t>(1);
  return ConvertTimes(count, nulls, dtype, unit,
                      [=](size_t k) { return from[k] * nanos; });
}

}  // namespace

NullMask JoinNulls(const arrow::Array& array, const NullMask& outside) {
  if (array.null_count() == 0) return outside;
  NullMask nulls = outside;
  nulls.resize(static_cast<size_t>(array.length()));
  for (size_t k = 0; k < nulls.size(); ++k) {
    if (array.IsNull(static_cast<int64_t>(k))) nulls[k] = 1;
  }
  return nulls;
}

ColumnItems TakeRanges(const ColumnItems& items,
                       const std::vector<ItemRange>& ranges, DType dtype) {
  ColumnItems out;
  std::vector<std::byte> values;
  std::vector<int64_t> offsets;
  if (dtype == DType::kBytes) offsets.push_back(0);
  for (const auto& [begin, count] : ranges) {
    const auto first = static_cast<size_t>(begin);
    const auto after = static_cast<size_t>(begin + count);
    out.count += static_cast<size_t>(count);
    if (!items.faults.empty()) {
      out.faults.insert(out.faults.end(), items.faults.begin() + begin,
                        items.faults.begin() + begin + count);
    }
    if (count == 0) continue;
    if (dtype != DType::kBytes) {
      const size_t size = ItemSize(dtype);
      values.insert(values.end(), items.values.data() + first * size,
                    items.values.data() + after * size);
      continue;
    }
    const auto from = items.offsets.As<int64_t>();
    const auto shift = static_cast<int64_t>(values.size()) - from[first];
    values.insert(values.end(), items.values.data() + from[first],
                  items.values.data() + from[after]);
    for (size_t k = first + 1; k <= after; ++k) {
      offsets.push_back(from[k] + shift);
    }
  }
  out.values = BufferOf(std::move(values));
  if (dtype == DType::kBytes) out.offsets = BufferOf(std::move(offsets));
  return out;
}

absl::StatusOr<ColumnItems> ItemsOfArray(const arrow::Array& array,
                                         const NullMask& outside, DType dtype,
                                         const TimeType* time) {
  if (array.type_id() == Type::EXTENSION) {
    return ItemsOfArray(
        *static_cast<const arrow::ExtensionArray&>(array).storage(), outside,
        dtype, time);
  }
  if (array.type_id() == Type::NA) {
    if (array.length() > kNullsMax) {
      return DataLoss("it says that it has {} nulls", array.length());
    }
    return NullsOf(static_cast<size_t>(array.length()), dtype);
  }
  FM_RETURN_IF_ARROW(array.Validate());
  const NullMask nulls = JoinNulls(array, outside);
  if (array.type_id() == Type::DICTIONARY) {
    return DecodeDictionary(static_cast<const arrow::DictionaryArray&>(array),
                            nulls, dtype, time);
  }
  if (time != nullptr && TimeOfType(*array.type()) != *time) {
    return TimesOfArray(array, nulls, dtype, time->nanos);
  }
  if (arrow::is_decimal(array.type_id())) {
    return DecimalItems(array, nulls, dtype);
  }
  if (array.type_id() == Type::BOOL) {
    return BoolsOf(static_cast<const arrow::BooleanArray&>(array), nulls);
  }
  if (dtype == DType::kBytes) return BytesOfArray(array, nulls);
  return NumbersOfArray(array, nulls, dtype);
}

}  // namespace feedmill
