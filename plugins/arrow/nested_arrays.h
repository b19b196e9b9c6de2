#ifndef FEEDMILL_PLUGINS_ARROW_NESTED_ARRAYS_H_
#define FEEDMILL_PLUGINS_ARROW_NESTED_ARRAYS_H_

#include <arrow/array.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "plugins/arrow/column_items.h"

namespace feedmill {

// Returns the storage of extension arrays.
std::shared_ptr<arrow::Array> WithoutExtension(
    std::shared_ptr<arrow::Array> array);

// True for lists of any length, and for maps, which are lists of pairs.
bool IsAnyLengthList(arrow::Type::type type);
// Returns the values of all lists of an array. REQUIRES: IsAnyLengthList.
std::shared_ptr<arrow::Array> ValuesOfList(const arrow::Array& array);
// Returns the item range of each row's list. A null list is empty. DataLoss if
// a range is outside of the `items` values. REQUIRES: IsAnyLengthList.
absl::StatusOr<std::vector<ItemRange>> RangesOf(const arrow::Array& array,
                                                const NullMask& nulls,
                                                int64_t items);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_NESTED_ARRAYS_H_
