#ifndef FEEDMILL_PLUGINS_ARROW_COLUMN_ITEMS_H_
#define FEEDMILL_PLUGINS_ARROW_COLUMN_ITEMS_H_

#include <arrow/array.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/sources/columnar_file.h"
#include "feedmill/element.h"

namespace feedmill {

// Null flags of an array, its structs and its lists, one per item: 1 is null.
// Empty: no nulls.
using NullMask = std::vector<uint8_t>;

// Items in the form of Column: values and, for bytes, offsets.
struct ColumnItems {
  size_t count = 0;
  Buffer values;
  Buffer offsets;
  std::vector<RowFault> faults{};  // per item; empty: no faults
};

// Converts an array of single values. An item is null if the array or `outside`
// marks it so. Values that already have the dtype are not copied. `time`: the
// unit of the items, if they are times; null: the array's. REQUIRES:
// Becomes(type, dtype), which FindColumn checks.
absl::StatusOr<ColumnItems> ItemsOfArray(const arrow::Array& array,
                                         const NullMask& outside, DType dtype,
                                         const TimeType* time = nullptr);

// Items [begin, begin + count).
using ItemRange = std::pair<int64_t, int64_t>;
// Concatenates the items of all ranges. REQUIRES: the ranges are inside.
ColumnItems TakeRanges(const ColumnItems& items,
                       const std::vector<ItemRange>& ranges, DType dtype);

// Combines the nulls of `array` with `outside`.
NullMask JoinNulls(const arrow::Array& array, const NullMask& outside);

// Returns a buffer of a vector's items without copying.
template <class T>
Buffer BufferOf(std::vector<T> items) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(items));
  const auto* const data = reinterpret_cast<const std::byte*>(owner->data());
  const size_t size = owner->size() * sizeof(T);
  return Buffer(std::move(owner), data, size);
}

// Converts decimals: to text (bytes), to the nearest float, or to integers if
// they have no fractional digits.
absl::StatusOr<ColumnItems> DecimalItems(const arrow::Array& array,
                                         const NullMask& nulls, DType dtype);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_COLUMN_ITEMS_H_
