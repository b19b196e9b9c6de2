#ifndef FEEDMILL_PLUGINS_ARROW_COLUMN_VALUES_H_
#define FEEDMILL_PLUGINS_ARROW_COLUMN_VALUES_H_

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/sources/columnar_file.h"
#include "plugins/arrow/column_items.h"

namespace feedmill {

// Path to a member of nested structs: a child index per struct. The members of
// a null struct are null.
struct MemberPath {
  std::vector<int> children;
  // If the member is a list of structs: the path to a member of these structs.
  std::vector<int> in_items{};
};

// Decodes an array as the column `wanted`. DataLoss if it is damaged; the
// message does not name the column. REQUIRES: FindColumn accepted the type.
absl::StatusOr<DecodedColumn> DecodeArray(
    const std::shared_ptr<arrow::Array>& array, const MemberPath& path,
    const ColumnarColumn& wanted);

// Decodes several arrays, one after the other.
absl::StatusOr<DecodedColumn> DecodeChunks(const arrow::ChunkedArray& chunks,
                                           const MemberPath& path,
                                           const ColumnarColumn& wanted);

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

#endif  // FEEDMILL_PLUGINS_ARROW_COLUMN_VALUES_H_
