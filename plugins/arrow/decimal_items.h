#ifndef FEEDMILL_PLUGINS_ARROW_DECIMAL_ITEMS_H_
#define FEEDMILL_PLUGINS_ARROW_DECIMAL_ITEMS_H_

#include <arrow/array.h>

#include "absl/status/statusor.h"
#include "feedmill/element_spec.h"
#include "plugins/arrow/column_items.h"

namespace feedmill {

// Decimals as their text (bytes), as the nearest float, or, without digits
// behind the point, as integers.
absl::StatusOr<ColumnItems> DecimalItems(const arrow::Array& array,
                                         const NullMask& nulls, DType dtype);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_DECIMAL_ITEMS_H_
