#ifndef FEEDMILL_PLUGINS_ARROW_JSON_TEXTS_H_
#define FEEDMILL_PLUGINS_ARROW_JSON_TEXTS_H_

#include <arrow/array.h>

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "plugins/arrow/column_items.h"

namespace feedmill {

// Writes each value of a nested array as JSON text, in the form in which
// feedmill prints elements. A struct and a map are objects, and a list is an
// array. A key of a map that is no text is the text of its JSON. A null inside
// is `null`. A null row, also by `outside`, is empty. Times are in the units
// `times` (ColumnarColumn::times); empty: in the array's units. DataLoss if
// the array is damaged. REQUIRES: HasJsonText(type).
absl::StatusOr<ColumnItems> JsonTexts(
    const std::shared_ptr<arrow::Array>& array, const NullMask& outside,
    std::span<const TimeType> times);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_JSON_TEXTS_H_
