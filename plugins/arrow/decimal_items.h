#ifndef FEEDMILL_PLUGINS_ARROW_DECIMAL_ITEMS_H_
#define FEEDMILL_PLUGINS_ARROW_DECIMAL_ITEMS_H_

#include <arrow/array.h>

#include "absl/status/statusor.h"
#include "feedmill/element.h"
#include "plugins/arrow/column_items.h"

namespace feedmill {

// Converts decimals: to text (bytes), to the nearest float, or to integers if
// they have no fractional digits.
absl::StatusOr<ColumnItems> DecimalItems(const arrow::Array& array,
                                         const NullMask& nulls, DType dtype);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_DECIMAL_ITEMS_H_
